"""Laws from a seed, with events and control states that fit them.

`laws` writes whole laws and draws cases for them, `goals` writes bodies, `library` has helper
predicates to call, `shapes` makes values and patterns meet. The same seed gives the same laws on
every machine.

>>> from random import Random
>>> from nomospace.law import load
>>> rng = Random(4)
>>> draft = make_law(rng)
>>> law = load(draft.text)
>>> law.name, len(list(make_cases(rng, draft, law.tree, 3)))
('drawn', 3)
"""

from nomospace_lab.testing.generate.laws import (
    LAW_NAME,
    EventCase,
    GeneratedLaw,
    make_cases,
    make_law,
)
from nomospace_lab.testing.generate.shapes import HOME

__all__ = ["HOME", "LAW_NAME", "EventCase", "GeneratedLaw", "make_cases", "make_law"]
