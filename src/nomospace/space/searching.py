"""How a space is searched: the candidates for a template, tested and paid for.

Most searches look at a few tuples and end. One that takes longer than its slice is cut, kept, and
gone on with (`search`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, dropwhile, islice
from sys import maxsize
from typing import Final, TypeAlias

from nomospace.calls.problems import TooManyFound
from nomospace.space.meant import Speech
from nomospace.space.pages import RowsAway
from nomospace.space.records import Record
from nomospace.space.search import AWAY_UNITS, SEARCH_UNITS_MAX, Search, SetSearch, Unfinished
from nomospace.space.stored import EngineRecords, Lookup
from nomospace.space.waits import SpaceWaits
from nomospace.terms import Term
from nomospace.terms.budget import TEST_UNITS_MAX, WATCH_UNITS_MAX, Budget, Slice, TestTooDear
from nomospace.terms.templates import Template

LOOK_UNITS: Final = 36_000
"""What one look of an operator may cost: it is not cut, and takes about 10 ms."""
CANDIDATE_UNITS: Final = 2
"""What it costs to look at a tuple, besides its test."""
VAIN_MAX: Final = 64
"""Tuples that a search looks at in vain before it asks for an index of its own.

With a template whose tests are cheap and cost the same it looks at so many whatever is left of its
slice."""
BATCH: Final = 32
"""Tuples that are tested together where all are looked for."""
BATCH_UNITS: Final = 2_000
"""What they may cost together; otherwise they are tested one by one."""
END: Final = 1 << 62
"""No tuple has a higher order."""
_QUICK: Final = TEST_UNITS_MAX - WATCH_UNITS_MAX
"""While a few tuples cost less together, there is no need to look closer."""

Fits: TypeAlias = Callable[[tuple[Term, ...], Budget], bool]


class Searches:
    """How a space is searched: the part of it that finds tuples."""

    def __init__(self, store: EngineRecords, speech: Speech) -> None:
        self._look_budget = Budget()
        """For the tests of the few tuples that most searches look at."""
        self._store = store
        self._speech = speech
        self._searches: dict[Search, None] = {}
        """Those that are to be gone on with."""
        self.waits: SpaceWaits | None = None
        """When tuples came, and how long those that were taken had waited, if that is wanted."""

    def took(self, record: Record, now: int) -> None:
        """A tuple that lies here is taken, or lent for the first time: its wait is over."""
        if self.waits is not None and not record.deliveries and record.order > 0:
            self.waits.took(record.order, now)

    def find(
        self,
        template: Template,
        *,
        at: str | None = None,
        dest: str | None = None,
        now: int = 0,
        slice: Slice | None = None,
    ) -> Record | None:
        """The oldest tuple that matches, held by `at` and meant for `dest` where these are given.

        Never one that is lent out, nor one past its expiry at `now`. Where the template names a
        class, one that fits exactly goes before one that fits by meaning. `Unfinished` when that
        takes more than is left of a slice; `TestTooDear` and `SearchTooLong` past what it may cost.
        """
        if slice is None and not self._store.is_near:
            with self._store.at_once():
                return self._find(template, at, dest, now, Slice(maxsize))
        try:
            return self._find(template, at, dest, now, slice)
        except RowsAway as away:
            raise self._cut(Search(template, at, dest), away) from None

    def _find(
        self,
        template: Template,
        at: str | None,
        dest: str | None,
        now: int,
        slice: Slice | None,
    ) -> Record | None:
        if template.meant:
            return self._find_meant(template, at, dest, now, slice)
        shelf = self._store.shelf(template.arity)
        if shelf is None:
            return None
        after = 0
        candidates = shelf.candidates(template, at, dest)
        if template.steady:
            matches = template.matches
            for vain, record in enumerate(candidates):
                if (
                    matches(record.fields)
                    and (at is None or record.cur == at)
                    and (dest is None or record.dest == dest)
                    and not 0 < record.expires <= now
                ):
                    return record
                if vain >= VAIN_MAX:
                    after = record.order
                    break
            else:
                return None
        elif slice is None or slice.left > 0:
            self._look_budget.renew(WATCH_UNITS_MAX)
            found, after = self._quickly(candidates, template.matches, at, dest, now, slice)
            if after == END:
                return found
        search = Search(template, at, dest)
        search.after = after
        rest = self.go_on(search, now=now, slice=slice)
        return rest[0] if rest else None

    def _find_meant(
        self,
        template: Template,
        at: str | None,
        dest: str | None,
        now: int,
        slice: Slice | None,
    ) -> Record | None:
        """The tuple for a template that names a class: an exact one, else the oldest that fits."""
        if slice is None or slice.left > 0:
            meant = self._speech.read(template)
            objects, assigner = self._store.objects, meant.assigner
            exact, after = objects.exact(meant), END
            self._look_budget.renew(WATCH_UNITS_MAX)
            if exact:
                found, after = self._quickly(exact, assigner.exact, at, dest, now, slice)
                if found is not None:
                    return found
            if after == END:
                fitting = objects.fitting(meant)
                if not fitting:
                    return None
                found, after = self._quickly(fitting, assigner.fits, at, dest, now, slice)
                if after == END:
                    return found
        search = Search(template, at, dest)
        rest = self.go_on(search, now=now, slice=slice)
        return rest[0] if rest else None

    def _quickly(
        self,
        candidates: Iterable[Record],
        fits: Fits,
        at: str | None,
        dest: str | None,
        now: int,
        slice: Slice | None,
    ) -> tuple[Record | None, int]:
        """Look at a few tuples: what is found, and behind which one to go on; `END` for nowhere.

        Most searches need no more, and what a longer one is made of would cost them half as much
        again.
        """
        budget, after, looked = self._look_budget, 0, 0
        before = budget.left
        for record in candidates:
            if looked >= VAIN_MAX:
                break
            looked += 1
            try:
                fit = fits(record.fields, budget)
            except TestTooDear:  # all of them together, or more than a look may cost
                break
            if (
                fit
                and (at is None or record.cur == at)
                and (dest is None or record.dest == dest)
                and not 0 < record.expires <= now
            ):
                after = END
                break
            after = record.order
        else:
            record, after = None, END
        if slice is not None:
            each = CANDIDATE_UNITS + self._store.look_units
            slice.left -= each * looked + before - budget.left
        return (record, END) if after == END else (None, after)

    def first(self, template: Template, *, now: int) -> Record | None:
        """What `find` gives for a plain template, where that is known at once (`Shelf.first`).

        `None` says nothing: whatever else there may be, `find` knows.
        """
        shelf = self._store.shelf(template.arity)
        record = None if shelf is None else shelf.first(template.equal)
        return None if record is None or 0 < record.expires <= now else record

    def find_all(
        self,
        template: Template,
        *,
        at: str | None = None,
        dest: str | None = None,
        now: int = 0,
        slice: Slice | None = None,
        most: int = maxsize,
    ) -> list[Record]:
        """All tuples that `find` could give, oldest first; cut as that is.

        `TooManyFound` where there are more than `most`.
        """
        if not template.steady or (slice is None and not self._store.is_near):
            search = Search(template, at, dest, every=True, most=most)
            return self.go_on(search, now=now, slice=slice)
        shelf = self._store.shelf(template.arity)
        if shelf is None:
            return []
        try:
            found, looked, after = self._look_through(shelf, template, at, dest, 0, now, slice)
        except RowsAway as away:
            raise self._cut(Search(template, at, dest, every=True, most=most), away) from None
        if len(found) > most:
            raise TooManyFound(limit=most)
        if looked - len(found) > VAIN_MAX:
            shelf.ask_for_composite(template, at, dest)
        if after == END:
            return found
        search = Search(template, at, dest, every=True, most=most)
        search.after = after
        search.found = {record.order: record for record in found}
        raise self._cut(search)

    def look(
        self, template: Template, *, limit: int, tries: int, now: int = 0
    ) -> tuple[list[Record], bool]:
        """The oldest tuples that match, for one who looks on, and whether these are all of them.

        Up to `limit` are given, up to `tries` looked at and `LOOK_UNITS` spent, so that looking
        costs little in a large space. It asks for no index: nothing changes by being looked at.

        >>> from nomospace.space import Space
        >>> space = Space("jobs")
        >>> for count in range(3):
        ...     _ = space.put(Record(("job", count), "ann", count, "ann", "ann"), now=0)
        >>> found, whole = space.look(Template.of(("job", int)), limit=2, tries=10)
        >>> [record.fields for record in found], whole
        ([('job', 0), ('job', 1)], False)
        """
        candidates: Iterable[Record] = ()
        fits: Fits = template.matches
        if template.meant:
            meant = self._speech.read(template)
            candidates, fits = self._store.objects.fitting(meant), meant.assigner.fits
        elif (shelf := self._store.shelf(template.arity)) is not None:
            candidates = shelf.candidates(template, None, None)
        found: list[Record] = []
        budget, left = Budget(), LOOK_UNITS
        with self._store.at_once():
            for tried, record in enumerate(candidates):
                if tried >= tries or left <= 0:
                    return found, False
                budget.renew()
                fit = fits(record.fields, budget)
                left -= CANDIDATE_UNITS + budget.spent
                if fit and not 0 < record.expires <= now:
                    if len(found) >= limit:
                        return found, False
                    found.append(record)
        return found, True

    def go_on(self, search: Search, *, now: int, slice: Slice | None = None) -> list[Record]:
        """Go on with a search: what it finds, one tuple or every one.

        Without a slice it is not cut.
        """
        if slice is None:
            with self._store.at_once():
                return self.go_on(search, now=now, slice=Slice(maxsize))
        self._searches.pop(search, None)
        go_on = self._go_on_meant if search.template.meant else self._go_on_plain
        try:
            done = go_on(search, now, slice)
        except RowsAway as away:
            search.pay(AWAY_UNITS)
            raise self._cut(search, away) from None
        if len(search.found) > search.most:
            raise TooManyFound(limit=search.most)
        if not done:
            raise self._cut(search)
        if not search.cut:
            return list(search.found.values())
        return [
            one
            for _, one in sorted(search.found.items())
            if search.is_for(one, now) and self._store.lies(one)
        ]

    def _cut(self, search: Search, away: RowsAway | None = None) -> Unfinished:
        """Keep a search that is to be gone on with."""
        self._searches[search] = None
        search.cut = True
        search.awaits = None if away is None else away.key
        return Unfinished(search=search)

    def appeared(self, record: Record) -> None:
        """A tuple is here that searches under way may have passed: it came back, or has moved."""
        for search in self._searches:
            search.miss(record)

    def give_up(self, search: Search | SetSearch) -> None:
        """A search is not gone on with."""
        if isinstance(search, Search):
            self._searches.pop(search, None)

    def _go_on_plain(self, search: Search, now: int, slice: Slice) -> bool:
        template, at, dest = search.template, search.at, search.dest
        fits = template.matches
        if not self._look_behind(search, fits, now, slice):
            return False
        shelf = self._store.shelf(template.arity)
        if shelf is None or search.has_enough:
            return True
        before = len(search.found)
        if template.steady and search.every:
            began = slice.left
            found, looked, after = self._look_through(
                shelf, template, at, dest, search.after, now, slice
            )
            search.found.update({record.order: record for record in found})
            done = after == END
            if not done:
                search.after = after
            search.pay(began - slice.left)
        else:
            candidates = shelf.candidates(template, at, dest, search.after)
            looked, done = self._look_at(search, candidates, fits, now, slice)
        if looked - (len(search.found) - before) > VAIN_MAX:
            shelf.ask_for_composite(template, at, dest)
        return done

    def _go_on_meant(self, search: Search, now: int, slice: Slice) -> bool:
        """Look for what fits exactly first, if one tuple is enough; then for what fits."""
        meant = self._speech.read(search.template)
        objects, assigner = self._store.objects, meant.assigner
        if not search.every:
            if not self._look_behind(search, assigner.exact, now, slice, search.inexact):
                return False
            if search.has_enough:
                return True
            after, search.after = search.after, search.after_exact
            exact = objects.exact(meant, search.after)
            try:
                _, done = self._look_at(search, exact, assigner.exact, now, slice)
            finally:
                search.after, search.after_exact = after, search.after
            if not done or search.has_enough:
                return done
            # What lies ahead of the second walk is met there, in its order.
            behind = {at: one for at, one in search.inexact.items() if at <= search.after}
            search.missed, search.inexact = behind, {}
        if not self._look_behind(search, assigner.fits, now, slice):
            return False
        if search.has_enough:
            return True
        return self._look_at(
            search, objects.fitting(meant, search.after), assigner.fits, now, slice
        )[1]

    def _look_behind(
        self,
        search: Search,
        fits: Fits,
        now: int,
        slice: Slice,
        rest: dict[int, Record] | None = None,
    ) -> bool:
        """Look at what has shown up behind; false when the slice is used up.

        What was looked at is not looked at again; what does not fit goes to the `rest`, if one is
        kept.
        """
        missed = search.missed
        after = search.after
        for order, record in sorted(missed.items()):
            if slice.left <= 0:
                return False
            del missed[order]
            if record.order <= 0:
                continue
            search.after = 0
            _, done = self._look_at(search, (record,), fits, now, slice)
            search.after = after
            if not done:  # its test costs more than was left
                missed[order] = record
                return False
            if search.has_enough:
                break
            if rest is not None:
                rest[order] = record
        return True

    def _look_through(
        self,
        shelf: Lookup,
        template: Template,
        at: str | None,
        dest: str | None,
        after: int,
        now: int,
        slice: Slice | None,
    ) -> tuple[list[Record], int, int]:
        """Look for all tuples behind one, where each costs the same.

        What is found, at how many was looked, and behind which one to go on: `END` for nowhere.
        """
        candidates = shelf.candidates(template, at, dest, after)
        if after:
            candidates = dropwhile(lambda one: one.order <= after, candidates)
        units = CANDIDATE_UNITS - 1 + template.price + self._store.look_units
        # Rounded up: whatever is left of a slice is enough for one.
        room = SEARCH_UNITS_MAX if slice is None else max(0, -(-slice.left // units))
        some: list[Record] = []
        end = END
        try:
            some.extend(islice(candidates, room + 1))  # one by one: what came before a cut stays
        except RowsAway:
            if not some:
                raise
            end = some[-1].order
        if len(some) > room:
            some.pop()
            end = some[-1].order if some else after
        if slice is not None:
            slice.left -= units * len(some)
        matches = template.matches
        found = [
            record
            for record in some
            if matches(record.fields)
            and (at is None or record.cur == at)
            and (dest is None or record.dest == dest)
            and not 0 < record.expires <= now
        ]
        return found, len(some), end

    def _look_at(
        self, search: Search, candidates: Iterable[Record], fits: Fits, now: int, slice: Slice
    ) -> tuple[int, bool]:
        """Look at tuples until there are enough: at how many, and whether the slice was enough.

        Tests are counted some together, while they are cheap.
        """
        after, every, at, dest = search.after, search.every, search.at, search.dest
        found, template = search.found, search.template
        units = CANDIDATE_UNITS - 1 + template.price if template.steady else CANDIDATE_UNITS
        units += self._store.look_units
        budget, rest = search.budget, iter(candidates)
        if after:
            rest = dropwhile(lambda one: one.order <= after, rest)
        budget.renew()
        left, looked, done = slice.left, 0, True
        try:
            while every and left > 0:
                some = tuple(islice(rest, BATCH))
                budget.left = BATCH_UNITS
                try:
                    fitting = [record for record in some if fits(record.fields, budget)]
                except TestTooDear:  # all of them together
                    left -= BATCH_UNITS
                    rest = chain(some, rest)
                    budget.renew()
                    break
                left -= units * len(some) + BATCH_UNITS - budget.left
                budget.renew()
                for record in fitting:
                    if (
                        (at is None or record.cur == at)
                        and (dest is None or record.dest == dest)
                        and not 0 < record.expires <= now
                    ):
                        found[record.order] = record
                looked += len(some)
                if some:
                    after = some[-1].order
                if len(some) < BATCH:
                    return looked, True
            for record in rest:
                if left <= 0:
                    done = False
                    break
                before = budget.left
                try:
                    fit = fits(record.fields, budget)
                except TestTooDear:
                    left -= TEST_UNITS_MAX
                    if before == TEST_UNITS_MAX:
                        raise
                    budget.renew()  # by itself it may be well
                    if left <= 0:
                        done = False
                        break
                    fit = fits(record.fields, budget)
                after = record.order
                looked += 1
                left -= units
                if budget.left < _QUICK:
                    left -= budget.spent
                    budget.renew()
                if (
                    fit
                    and (at is None or record.cur == at)
                    and (dest is None or record.dest == dest)
                    and not 0 < record.expires <= now
                ):
                    found[after] = record
                    if not every:
                        break
        finally:
            left -= budget.spent
            search.after = after
            spent, slice.left = slice.left - left, left
            search.pay(spent)
        return looked, done
