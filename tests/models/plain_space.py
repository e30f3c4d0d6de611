"""The plainest tuple space that is right: one list, walked for everything."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from nomospace.calls.ways import ONCE
from nomospace.space import OFFER, READ, TAKE, TupleId
from nomospace.terms import Term
from nomospace.terms.templates import Template
from tests.models.plain_meaning import fits

Told = tuple[Any, ...]
"""An outcome as a plain value: its kind's name, then ids, tickets and numbers."""


@dataclass(eq=False)
class Thing:
    """A tuple."""

    fields: tuple[Term, ...]
    id: TupleId
    cur: str
    dest: str
    expires: int = 0
    deliveries: int = 0
    lent_to: str | None = None
    lent_until: int = 0
    priority: int = 0


@dataclass(eq=False)
class Watch:
    """A waiter or a reaction."""

    id: Hashable
    template: Template
    how: str
    at: str | None
    dest: str | None
    on: bool = True
    met: list[TupleId] = field(default_factory=list)
    listener: Callable[[TupleId], None] | None = None

    def looks_for(self, thing: Thing) -> bool:
        return (
            fits(self.template, thing.fields)
            and self.at in (None, thing.cur)
            and self.dest in (None, thing.dest)
        )


class PlainSpace:
    """Does what `Space` promises by walking lists, in order of priority and then of arrival."""

    def __init__(self, firings_max: int) -> None:
        self.firings_max = firings_max
        self.things: list[Thing] = []
        self.waiters: list[Watch] = []
        self.reactions: list[Watch] = []
        self.told: list[Told] = []
        self.agenda: list[tuple[Thing | Watch, bool]] = []
        self.fresh: list[Thing] = []
        self.running = self.inside = False
        self.tally: dict[Hashable, int] = {}

    # -- looking -----------------------------------------------------------------------------

    def lying(self, now: int) -> list[Thing]:
        return [x for x in self.things if x.lent_to is None and not 0 < x.expires <= now]

    def find_all(
        self, template: Template, at: str | None, dest: str | None, now: int
    ) -> list[TupleId]:
        wanted = Watch("", template, "", at, dest)
        return [thing.id for thing in self.lying(now) if wanted.looks_for(thing)]

    def first(
        self, template: Template, at: str | None, dest: str | None, now: int
    ) -> TupleId | None:
        """What `find` gives: an exact match before one by meaning, then the oldest."""
        found = self.find_all(template, at, dest, now)
        things = {thing.id: thing for thing in self.things}
        exact = [id for id in found if fits(template, things[id].fields, exact=True)]
        return next(iter(exact or found), None)

    def get(self, id: TupleId) -> Thing | None:
        return next((x for x in self.things if x.id == id and x.lent_to is None), None)

    def deadlines(self) -> list[int]:
        lent = [x.lent_until for x in self.things if x.lent_to is not None]
        return lent + [x.expires for x in self.things if x.lent_to is None and x.expires]

    # -- changing ----------------------------------------------------------------------------

    def put(self, things: list[Thing], now: int) -> list[Told]:
        for thing in things:
            self.things.append(thing)
            self.things.sort(key=lambda one: -one.priority)
            self.show(thing)
        return self.step(now)

    def remove(self, id: TupleId) -> None:
        thing = self.get(id)
        assert thing is not None
        self.things.remove(thing)

    def relocate(self, id: TupleId, cur: str, now: int) -> list[Told]:
        thing = self.get(id)
        assert thing is not None
        if thing.cur == cur:
            return []
        thing.cur = cur
        self.show(thing)
        return self.step(now)

    def lend(self, id: TupleId, taker: str, until: int) -> None:
        thing = self.get(id)
        assert thing is not None
        thing.lent_to, thing.lent_until = taker, until
        thing.deliveries += 1

    def settle(self, id: TupleId, taker: str) -> bool:
        for thing in self.things:
            if thing.id == id and thing.lent_to == taker:
                self.things.remove(thing)
                return True
        return False

    def give_back(self, id: TupleId, taker: str, now: int) -> list[Told]:
        for thing in list(self.things):
            if thing.id == id and thing.lent_to == taker:
                self.back(thing, now)
        return self.step(now)

    def lapse(self, now: int) -> list[Told]:
        due = [x for x in self.things if x.lent_to is not None and x.lent_until <= now]
        expired = [x for x in self.things if x.lent_to is None and 0 < x.expires <= now]
        for thing in sorted(due, key=lambda x: x.lent_until):
            self.told.append(("Lapsed", thing.id, thing.lent_to))
            self.back(thing, now)
        for thing in sorted(expired, key=lambda x: x.expires):
            self.things.remove(thing)
            self.told.append(("Expired", thing.id))
        return self.step(now)

    def back(self, thing: Thing, now: int) -> None:
        thing.lent_to = None
        if 0 < thing.expires <= now:
            self.things.remove(thing)
            self.told.append(("Expired", thing.id))
        else:
            self.show(thing)

    # -- watching ----------------------------------------------------------------------------

    def react(self, reaction: Watch, now: int) -> list[Told]:
        self.reactions.append(reaction)
        if reaction.on:
            self.agenda.append((reaction, self.inside))
        return self.step(now)

    def enable(self, id: Hashable, now: int) -> list[Told]:
        (reaction,) = [one for one in self.reactions if one.id == id]
        if not reaction.on:
            reaction.on, reaction.met = True, []
            self.agenda.append((reaction, self.inside))
        return self.step(now)

    def unreact(self, id: Hashable) -> None:
        self.reactions = [one for one in self.reactions if one.id != id]

    # -- the step ----------------------------------------------------------------------------

    def show(self, thing: Thing) -> None:
        self.agenda.append((thing, self.inside))
        self.fresh.append(thing)

    def step(self, now: int) -> list[Told]:
        if self.running:
            return []
        self.running = True
        while self.agenda:
            seed, inner = self.agenda.pop(0)
            if isinstance(seed, Thing):
                here = (None, seed.cur)
                for reaction in [one for one in self.reactions if one.on and one.at in here]:
                    self.meet(reaction, seed, inner, now)
            else:
                for thing in self.lying(now):
                    self.meet(seed, thing, inner, now)
        self.tally.clear()
        self.serve(now)
        self.running = False
        told, self.told = self.told, []
        return told

    def meet(self, reaction: Watch, thing: Thing, inner: bool, now: int) -> None:
        if (
            thing not in self.lying(now)
            or reaction not in self.reactions
            or not reaction.on
            or thing.id in reaction.met
            or not reaction.looks_for(thing)
        ):
            return
        reaction.met.append(thing.id)
        if reaction.how == ONCE:
            self.reactions.remove(reaction)
        if reaction.listener is None:
            self.told.append(("Fired", reaction.id, thing.id))
        else:
            before, self.inside = self.inside, True
            try:
                reaction.listener(thing.id)
            except ArithmeticError as error:
                self.told.append(("ListenerFailed", reaction.id, thing.id, str(error)))
            self.inside = before
        if inner and reaction.listener is not None:
            self.tally[reaction.id] = self.tally.get(reaction.id, 0) + 1
            if sum(self.tally.values()) > self.firings_max:
                busiest = max(self.tally, key=self.tally.__getitem__)
                self.told.append(("Ranaway", busiest, self.tally[busiest]))
                for one in self.reactions:
                    if one.id == busiest:
                        one.on = False
                self.tally.clear()

    def serve(self, now: int) -> None:
        fresh, self.fresh = self.fresh, []
        for thing in sorted(fresh, key=lambda one: -one.priority):
            if thing not in self.lying(now):
                continue
            fit = [one for one in self.waiters if one.on and one.looks_for(thing)]
            takers = [one for one in fit if one.how == TAKE]
            for one in fit:
                if one.how == READ:
                    self.told.append(("Woken", one.id, thing.id))
                    self.waiters.remove(one)
            if takers:
                self.told.append(("Woken", takers[0].id, thing.id))
                self.waiters.remove(takers[0])
                self.things.remove(thing)
                continue
            for one in fit:
                if one.how == OFFER:
                    self.told.append(("Woken", one.id, thing.id))
                    one.on = False
