"""The place *Law bench*: a law is written, checked as one types, tried, compared, and adopted."""

from nomospace.console.places.law_bench.place import show

__all__ = ["show"]
