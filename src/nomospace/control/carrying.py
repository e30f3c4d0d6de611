"""A ruling is carried out: its operations one by one, as changes of a state and as effects.

What cannot be raises `Stop`; the changes so far are in `delta` then, for whoever takes them back.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from nomospace.control.bounded import SPACE_STATE_MAX, STATE_MAX, check_copies
from nomospace.control.events import (
    Change,
    Deliver,
    Effect,
    Forward,
    Leave,
    Operation,
    Release,
    Signal,
)
from nomospace.control.obligations import Obligations
from nomospace.law.arithmetic import arith2, micros
from nomospace.law.bag import Bag
from nomospace.law.budget import Stop, Units, spend
from nomospace.law.tree import UNITS
from nomospace.terms import Compound, Term

_Arguments: TypeAlias = tuple[Any, ...]
LEAVE: Final = Leave()
OPERATIONS_FREE: Final = 8
"""Rulings of no more operations carry them out for nothing; others pay two units for each."""
REORDERED_A_UNIT: Final = 32
"""Terms of a state that one unit puts in order again, where one of them takes an old place."""


def pass_on(operations: tuple[Operation, ...], effects: list[Effect], units: Units) -> None:
    """The messages of a ruling whose change of state is made, as effects."""
    for operation in operations:
        assert type(operation) is Compound
        args: _Arguments = operation.args  # of the kinds that `finish` lets pass
        if operation.name == "deliver":
            effects.append(Deliver(args[0], args[1]))
        elif operation.name == "forward":
            if type(args[2]) is str:
                effects.append(Forward(*args))
            else:
                _multiply(args[0], args[1], args[2], effects, units)


def carry_out(
    operations: tuple[Operation, ...],
    state: Bag,
    owed: Obligations,
    now: int,
    delta: list[Change],
    unmet: list[int],
    effects: list[Effect],
    units: Units,
    in_space: bool,
) -> bool:
    """Do all that a ruling says, and tell it; whether the membership ends with it.

    `in_space` says that it is at a space's controller, whose state may be less large.
    """
    if len(operations) > OPERATIONS_FREE:
        spend(units, 2 * len(operations))
    quits = False
    for index, operation in enumerate(operations):
        if type(operation) is not Compound:  # quit
            quits = True
            delta.append(("quit", 0, None, None))
            effects.append(LEAVE)
            continue
        name = operation.name
        args: _Arguments = operation.args  # of the kinds that `finish` lets pass
        if name == "forward" or name == "multicast":
            if type(args[2]) is str:
                effects.append(Forward(*args))
            else:
                _multiply(args[0], args[1], args[2], effects, units)
        elif name == "deliver":
            effects.append(Deliver(args[0], args[1]))
        elif name == "+":
            term = args[0]
            if type(term) is Compound and term.name == "obligation" and len(term.args) == 2:
                what, due = term.args
                assert isinstance(due, int | float)
                if owed.size >= SPACE_STATE_MAX:
                    _check_room(owed, in_space, units)
                due = micros(due)
                delta.append(("due", owed.impose(what, due), what, due))
            else:
                if state.size >= SPACE_STATE_MAX:
                    _check_room(state, in_space, units)
                delta.append(("+", state.add(term), term, None))
        elif name == "imposeObligation":
            unit = UNITS[args[2]] if len(args) == 3 else 1_000_000
            amount = args[1]
            small = type(amount) is int and -1_000_000 < amount < 1_000_000
            due = now + (amount * unit if small else micros(amount, unit))
            if owed.size >= SPACE_STATE_MAX:
                _check_room(owed, in_space, units)
            delta.append(("due", owed.impose(args[0], due), args[0], due))
        elif not _change(name, args, state, owed, delta, effects, units):
            unmet.append(index)
    return quits


def _multiply(
    sender: str, message: Term, to: tuple[str, ...], effects: list[Effect], units: Units
) -> None:
    """A message to each of several."""
    check_copies(message, to, units)
    spend(units, len(to))
    effects.extend([Forward(sender, message, one) for one in to])


def _check_room(bag: Bag, in_space: bool, units: Units) -> None:
    """Stop a ruling that brings one term or obligation too many; there are many already."""
    if bag.size >= STATE_MAX or (in_space and units[0] >= 0):
        raise Stop("tooLarge")


def _change(
    name: str,
    args: _Arguments,
    state: Bag,
    owed: Obligations,
    delta: list[Change],
    effects: list[Effect],
    units: Units,
) -> bool:
    """A change of what is there already; whether it found something to change."""
    if name == "-":
        found = state.find(args[0], units)
        if found is None:
            return False
        state.drop(*found)
        delta.append(("-", *found, None))
    elif name == "<-":
        found = state.find(args[0], units)
        if found is None:
            return False
        _swap(state, found, args[1], delta, units)
    elif name == "incr" or name == "dcr":
        found = state.find(args[0], units)
        if found is None:
            return False
        old = found[1]
        assert type(old) is Compound
        by = arith2("+" if name == "incr" else "-", old.args[0], args[1], units)
        _swap(state, found, Compound(old.name, (by,)), delta, units)
    elif name == "repealObligation":
        gone = owed.find_all(args[0], units)
        for place, term in gone:
            delta.append(("undue", place, term, owed.lift(place)[0]))
        return bool(gone)
    elif name == "release":
        effects.append(Release(args[0], args[1]))
    else:
        assert name == "signal", name
        effects.append(Signal(args[0]))
    return True


def _swap(
    state: Bag, found: tuple[int, Term], new: Term, delta: list[Change], units: Units
) -> None:
    place, old = found
    spend(units, state.disorder(place, new) // REORDERED_A_UNIT)
    state.swap(place, old, new)
    delta.append(("<-", place, old, new))
