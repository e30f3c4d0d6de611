"""The place *Meaning*: an ontology as a tree that folds, and a playground for templates over it."""

from nomospace.console.places.meaning.place import show

__all__ = ["show"]
