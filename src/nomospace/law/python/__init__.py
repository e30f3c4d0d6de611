"""The second law language: restricted Python, translated into the form all laws have.

A `.law.py` file looks like a module of decorated functions and is never run. Python's own parser
gives its syntax tree, and each node that the language knows becomes part of a rule; any other is
an error with its place. What a law can do is therefore what the law language can do, no more:
there is no interpreter of Python behind it that could be escaped to.

`reading` parses and keeps places and faults, `expressions` translates terms and arithmetic,
`conditions` what may hold or not, `statements` the bodies, `translate` the whole.
"""

from nomospace.law.python.reading import CODES
from nomospace.law.python.translate import parse_python

__all__ = ["CODES", "parse_python"]
