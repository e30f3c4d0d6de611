"""Rulings that leave the state as it is, to be held against those of the interpreter."""

from __future__ import annotations

from nomospace.law import CompiledLaw
from nomospace.law.bag import Bag
from nomospace.law.budget import Units
from nomospace.law.emit import LawBuilder
from nomospace.law.interpret import Outcome
from nomospace.law.program import Prepared
from nomospace.terms import Term


def evaluate(
    law: CompiledLaw,
    event: str,
    home: str,
    args: tuple[Term, ...],
    state: Bag,
    obligations: Bag,
    now: int,
    units: Units,
) -> Outcome:
    """What `CompiledLaw.act` rules, with the change of state made on a copy and forgotten."""
    outcome = law.act(event, home, args, state.copy(), obligations, now, units)
    return None if outcome is None else outcome[:2]


def plain_twin(law: CompiledLaw) -> CompiledLaw:
    """The same law, whose rules never change the state themselves."""
    code = LawBuilder(law.priced, law.hash).build()
    return CompiledLaw(law.tree, law.hash, law.warnings, Prepared(code, law.growing))
