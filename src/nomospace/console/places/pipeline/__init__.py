"""The place *Pipeline*: jobs over what hosts have recorded, with progress and reports to read."""

from nomospace.console.places.pipeline.place import show

__all__ = ["show"]
