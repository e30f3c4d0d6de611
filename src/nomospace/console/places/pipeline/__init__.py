"""The place *Pipeline*: jobs over what hosts have recorded, with progress and reports to read."""
