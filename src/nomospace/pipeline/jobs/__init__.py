"""Jobs: what each command of the pipeline does, and the only maker of Spark sessions."""
