"""Dealers who compete for the papers of cars: several tuples that only answer together."""
