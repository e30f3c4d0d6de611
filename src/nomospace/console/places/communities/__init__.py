"""The place *Communities*: who is under which law, what the law does, and who owes what."""

from nomospace.console.places.communities.place import show

__all__ = ["show"]
