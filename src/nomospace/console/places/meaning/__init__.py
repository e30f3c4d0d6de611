"""The place *Meaning*: an ontology as a tree that folds, and a playground for templates over it."""
