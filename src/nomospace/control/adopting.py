"""How a membership begins: its first control state, and the adoption that its law rules on."""

from __future__ import annotations

from nomospace.control.events import Effect, Event
from nomospace.control.membership import Membership
from nomospace.errors import CallerError
from nomospace.law import CompiledLaw
from nomospace.terms import Term


class SpaceRoll(tuple[Term, ...]):
    """The terms that a roll has for an agent which answers for a tuple space (a front)."""

    __slots__ = ()


class ReservedRole(CallerError):
    """An adoption names a term that only a host may give."""

    code = "control.reserved-role"
    words = "{role} is given to a space's manager by its host; leave it out"
    role: str


def first_state(
    law: CompiledLaw, *, manager: bool = False, roll: tuple[Term, ...] = ()
) -> tuple[Term, ...]:
    """The control state that a member begins with, before its law rules on the adoption."""
    return (*law.initial, *roll, "tupleSpace") if manager else (*law.initial, *roll)


def adoption(
    law: CompiledLaw,
    home: str,
    args: tuple[Term, ...] = (),
    *,
    manager: bool = False,
    roll: tuple[Term, ...] = (),
) -> tuple[Membership, Event]:
    """A membership with its own control state, and the event that it has to be told first.

    `manager` is for who answers for a space, its manager or a front: it holds `tupleSpace` from
    the start. `roll` are the terms that a secretary has for the member.
    """
    if "tupleSpace" in (*args, *roll):
        raise ReservedRole(role="tupleSpace")
    member = Membership(law, home, state=first_state(law, manager=manager, roll=roll))
    return member, Event("adopted", (args,))


def adopt(
    law: CompiledLaw,
    home: str,
    args: tuple[Term, ...] = (),
    *,
    now: int,
    manager: bool = False,
    roll: tuple[Term, ...] = (),
) -> tuple[Membership, list[Effect]]:
    """Bind an agent to a law: its membership (`adoption`), and what its law orders."""
    member, event = adoption(law, home, args, manager=manager, roll=roll)
    return member, member.handle(event, now=now)
