"""Rulings that leave the state as it is, to be held against those of the interpreter."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from nomospace.law import CompiledLaw
from nomospace.law.emit import LawBuilder
from nomospace.law.interpret import Outcome
from nomospace.law.program import Prepared


@lru_cache(maxsize=64)
def plain_twin(law: CompiledLaw) -> CompiledLaw:
    """The same law, whose rules never change the state themselves: its rulings are all orders."""
    code = LawBuilder(law.priced, law.hash).build()
    return CompiledLaw(law.tree, law.hash, law.warnings, Prepared(code, law.growing))


def evaluate(law: CompiledLaw, *case: Any) -> Outcome:
    """What compiled rules say of an event; given what `CompiledLaw.act` is given."""
    outcome: Outcome = plain_twin(law).act(*case)
    return outcome
