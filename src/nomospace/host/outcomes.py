"""What spaces tell: whom each outcome of a step of a space is for."""

from __future__ import annotations

from typing import Final

from nomospace.host.part import HostPart
from nomospace.space import Fired, Gathered, Outcome, Space, Woken
from nomospace.space.outcomes import (
    DeadLetter,
    Dear,
    Expired,
    Lapsed,
    ListenerFailed,
    Overran,
    Ranaway,
)

_REACHED: Final = (Woken, Gathered, Fired)
"""What a space has for those who wait and react."""


class Outcomes(HostPart):
    """Hands on what happens in the spaces of one host."""

    def happened(self, name: str, space: Space, outcomes: list[Outcome]) -> None:
        """Carry on with what a step of a space brought about."""
        host = self._host
        governed = bool(outcomes) and self._spaces.is_governed(name, space)
        for outcome in outcomes:
            if isinstance(outcome, _REACHED):
                if not governed or not host.looking.postpones(space, outcome):
                    self.reached(name, space, outcome)
            elif isinstance(outcome, Overran):
                host.seeking.overran(outcome.ticket, outcome.error)
            elif isinstance(outcome, Expired):
                host.placing.expired(name, outcome.record)
            elif isinstance(outcome, Lapsed):
                host.lending.lapsed(outcome.taker, outcome.record)
                if space.get(outcome.record.id) is outcome.record:  # else it is taken already
                    host.placing.came_back(name, space, outcome.record)
            elif isinstance(outcome, Dear):
                host.reacting.ran_away(outcome.reaction)
                self._step.note(
                    "reaction-too-dear",
                    reaction=outcome.reaction.id,
                    space=name,
                    why=str(outcome.error),
                )
            elif isinstance(outcome, DeadLetter):
                host.placing.died(name, outcome.record)
            elif isinstance(outcome, ListenerFailed):
                self._step.note(
                    "listener-failed",
                    reaction=outcome.reaction.id,
                    space=name,
                    tuple=outcome.record.fields,
                    error=outcome.error,
                )
            else:
                assert isinstance(outcome, Ranaway), outcome
                host.reacting.ran_away(outcome.reaction)
                self._step.note(
                    "reaction-ran-away",
                    reaction=outcome.reaction.id,
                    space=name,
                    firings=outcome.firings,
                )
        if host.looking.is_busy(space):
            host.looking.serve(name, space)

    def reached(self, name: str, space: Space, outcome: Woken | Gathered | Fired) -> None:
        """A tuple, or several together, are there for one who waits or reacts."""
        host = self._host
        if isinstance(outcome, Woken):
            host.seeking.woken(name, space, outcome.ticket, outcome.record)
        elif isinstance(outcome, Gathered):
            host.seeking.gathered(name, space, outcome)
        else:
            host.reacting.fired(name, outcome.reaction, outcome.record)
