"""The laboratory's commands: arguments in, text out; `nomospace_lab.commands` has their table."""
