"""The engine in memory: runs the networks of a plan over `Facts`, whose indexes do the joining.

`compiling` turns a network into nested loops, as Python source that is made once a plan; `matcher`
runs them: all answers, the first, or those with some tuples in them; `following` has facts that
change, and tells what each change brings.
"""

from nomospace.meaning.memory.following import Following
from nomospace.meaning.memory.matcher import Matcher

__all__ = ["Following", "Matcher"]
