"""A ruling that takes longer than a slice, on its way.

The evaluation of a law is a pure function that a host cannot wait for: it may take a tenth of a
second. So it runs in a greenlet of its own, which gives way where it has used up a part of its
units (`law.budget.in_parts`), and goes on from there. Where it gives way is told by units alone,
so every run of a host, and every simulated world, cuts it at the same places; and what it comes
to is what it would have come to at once.

Until it is decided the membership is as it was. Nothing else may be ruled on there meanwhile;
where that must be, `give_up` comes before, and the evaluation begins anew.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from nomospace.control.bounded import Decided, units_of
from nomospace.control.events import Effect, Event, Undecided
from nomospace.control.membership import Membership
from nomospace.law.budget import BudgetCut, Stop, Units, in_parts
from nomospace.law.program import FRAMES_MAX

if TYPE_CHECKING:
    from greenlet import greenlet  # few hosts ever need it


class Decision:
    """What a membership has to decide on in slices: the event, or the obligation, it is about."""

    def __init__(self, member: Membership, about: Undecided, *, slice: int) -> None:
        self.about = about
        self._member = member
        self._slice = slice
        self._now = 0
        self._decided: list[Decided] = []
        self._running: greenlet | None = None
        self._parent: greenlet | None = None
        self._asked: tuple[Event, Units] | None = None
        self._ended = False
        self._deep = False

    @property
    def begun(self) -> bool:
        """Whether it has an evaluation under way."""
        return self._running is not None

    def go_on(self, *, now: int) -> list[Effect] | None:
        """Evaluate for a slice more; what must follow, once it is decided.

        The ruling is of the moment at which its evaluation began. An obligation that has been
        repealed, and what comes after the end of a membership, is decided without any effect.
        """
        if self._running is None and not self._begin(now):
            return []
        self._switch()
        assert self._running is not None
        if not self._running.dead:
            return None
        self._running = None
        try:
            return self._member.conclude(
                self.about.event, self._decided, now=self._now, slice=self._slice
            )
        except BudgetCut as cut:  # an exception follows, and that takes long too
            self._withdraw()
            self._evaluate(cut.event)
            return None

    def give_up(self) -> None:
        """Let all be as if nothing had begun; it may begin again later."""
        if self._running is not None:
            self._ended = True
            while not self._running.dead:
                self._switch()
            self._ended = False
            self._running = None
        self._member.obligations.give_back()
        self._decided.clear()

    # -- the evaluation ----------------------------------------------------------------------

    def _begin(self, now: int) -> bool:
        """Begin with the event; false when there is nothing to decide any more."""
        place = self.about.place
        if self._member.ended or (place is not None and not self._member.owes(place)):
            return False
        self._now = now
        self._withdraw()
        self._evaluate(self.about.event)
        return True

    def _withdraw(self) -> None:
        """An obligation is gone before its event is ruled on."""
        if self.about.place is not None:
            self._member.obligations.withdraw(self.about.place)

    def _evaluate(self, event: Event) -> None:
        whole = units_of(self._member.home)
        self._asked = (event, in_parts(self._slice, self._give_way, whole=whole))
        from greenlet import greenlet

        self._running = greenlet(self._run)
        self._deep = False

    def _run(self) -> None:
        assert self._asked is not None
        (event, units), member = self._asked, self._member
        result = stop = None
        try:
            result = member.law.act(
                event.kind,
                member.home,
                event.args,
                member.state,
                member.obligations,
                self._now,
                units,
            )
        except Stop as stopped:
            stop = stopped.with_traceback(None)
        except BudgetCut:
            return
        _all_at_hand(units)
        self._decided.append(Decided(units, result, stop))

    def _give_way(self) -> bool:
        """Called by the evaluation where a part is used up; whether it has to end."""
        if not self._ended:
            self._deep = sys.getrecursionlimit() >= FRAMES_MAX
            assert self._parent is not None
            self._parent.switch()
        return self._ended

    def _switch(self) -> None:
        """Let the evaluation run until it gives way or ends.

        A law with helpers has lifted the recursion limit, which is for it alone. The collector is
        kept out, and what the evaluation has made becomes old at once: to look through a million
        parts of its lists would take longer than the slice did, and find nothing, as rulings make
        no cycles. What others have left behind is collected before.
        """
        assert self._running is not None
        limit, collecting = sys.getrecursionlimit(), gc.isenabled()
        if self._deep:
            sys.setrecursionlimit(FRAMES_MAX)
        gc.collect(1)
        gc.disable()
        try:
            self._running.parent = self._parent = self._running.getcurrent()
            self._running.switch()
        finally:
            sys.setrecursionlimit(limit)
            gc.freeze()
            gc.unfreeze()
            if collecting:
                gc.enable()


def _all_at_hand(units: Units) -> None:
    """Let all that is left be at hand, to carry a ruling out with."""
    units[0] -= units[1]
    units[1] = 0
