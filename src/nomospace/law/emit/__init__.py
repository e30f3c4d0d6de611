"""The compiler: a law's rules as Python functions, held to what `law.interpret` says.

`build` puts programs together, `dispatch` picks the rules for an event, `body` writes goals,
`terms` writes matching, `operations` writes rulings, `symbols` and `paths` are what is known and
passed along.
"""

from nomospace.law.emit.build import LawBuilder, LawCode, Ruler
from nomospace.law.emit.support import BUDGET, Retreat

__all__ = ["BUDGET", "LawBuilder", "LawCode", "Retreat", "Ruler"]
