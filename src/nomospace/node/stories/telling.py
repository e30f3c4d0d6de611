"""Puts a story together: asks every host of the group who made what others used, step by step.

From the event that is asked about it goes back to what led to it, and forward to what came of it;
never forward again from what led to it, which would tell of everybody. The number of steps, how
far it goes and how long it takes are bounded, and what was left out is said.

A host tells its own operators everything. What it tells other hosts is set in its configuration
(`[journal] peers`): everything, who and when without the words, or nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from nomospace.errors import CallerError, NomospaceError
from nomospace.node.peer_questions import ANSWER_BYTES_MAX
from nomospace.node.stories.facts import BY_CAUSE, MOVES, StoryFact, fact_of, outline, tie
from nomospace.node.stories.reading import WindowReader
from nomospace.node.stories.window import FOUND_MAX, Want
from nomospace.node.viewed import CausalStory, StoryLane, StoryLink, StoryStep
from nomospace.store.journal import CAME, DEPARTED

if TYPE_CHECKING:
    from nomospace.node.serve import Server

STEPS_MAX: Final = 300
"""How many steps a story has."""
FAR_MAX: Final = 24
"""How many steps lie between the event and the farthest cause or effect."""
STORY_S: Final = 30.0
"""How long a story may take to be put together, and"""
ANSWER_S: Final = 15.0
"""how long one host to answer: segments have to be read."""
WANTS_MAX: Final = 500
"""How many wants one question has."""
FARTHER_MAX: Final = 4
"""How many windows more a story looks at for holds and duties that last."""
ID_DIGITS_MAX: Final = 15


class NoStory(CallerError):
    """Nothing is known of what a story was asked of."""

    code = "node.no-story"
    words = (
        "no journal of this group tells of {about!r}; give host/record of a ruling, or the id of "
        "a tuple (writer#number), that the journals still have{left}"
    )
    about: str
    left: str = ""


class StoryQuestion(msgspec.Struct, frozen=True, array_like=True):
    """What a host asks another: wants around a moment, a record, or a tuple."""

    around: int
    wants: tuple[Want, ...] = ()
    record: int = 0
    tuple_id: str = ""


class StoryAnswer(msgspec.Struct, frozen=True, array_like=True):
    """Facts, each with the number of the want that it answers; `cut` if there were more, or if
    whoever asks may have none.

    Records before `since` and after `until` were not looked at; 0 where there are none.
    """

    found: tuple[tuple[int, StoryFact], ...]
    cut: bool = False
    since: int = 0
    until: int = 0


Ask: TypeAlias = Callable[[StoryQuestion], Awaitable[StoryAnswer]]
_NOTHING: Final = StoryAnswer(())
_question = msgspec.msgpack.Decoder(StoryQuestion)
_answer = msgspec.msgpack.Decoder(StoryAnswer)


class Stories:
    """Tells stories at one host, and answers what other hosts ask for theirs."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._reader = WindowReader(server)

    # -- answering -----------------------------------------------------------------------------

    async def answer(self, asked: StoryQuestion) -> StoryAnswer:
        """What the journal of this host has of what is asked."""
        if asked.record:
            record = await self._reader.record(asked.record)
            fact = None if record is None else fact_of(asked.record, record)
            return _NOTHING if fact is None else StoryAnswer(((0, fact),))
        if asked.tuple_id:
            records = await self._reader.of_tuple(asked.tuple_id)
            facts = [fact_of(*one) for one in records[:STEPS_MAX]]
            cut = len(records) > STEPS_MAX
            return StoryAnswer(tuple([(0, fact) for fact in facts if fact is not None]), cut)
        window = await self._reader.window(asked.around)
        found: list[tuple[int, StoryFact]] = []
        for number, want in enumerate(asked.wants[:WANTS_MAX]):
            found += [(number, fact) for fact in window.find(want)]
            if len(found) > STEPS_MAX * 2:
                return StoryAnswer(tuple(found), True)
            await asyncio.sleep(0)
        return StoryAnswer(tuple(found), False, *self._reader.edges(window))

    async def answer_peer(self, body: bytes) -> bytes:
        """What another host is told, as far as it may be."""
        how = self._server.config.journal.peers
        if how == "nothing":
            return msgspec.msgpack.encode(StoryAnswer((), cut=True))
        try:
            asked = _question.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return msgspec.msgpack.encode(_NOTHING)
        answer = await self.answer(asked)
        if how == "outline":
            told = [(number, outline(fact)) for number, fact in answer.found]
            answer = msgspec.structs.replace(answer, found=tuple(told))
        while len(said := msgspec.msgpack.encode(answer)) > ANSWER_BYTES_MAX:
            half = answer.found[: len(answer.found) // 2]
            answer = msgspec.structs.replace(answer, found=half, cut=True)
        return said

    # -- telling -------------------------------------------------------------------------------

    async def tell(self, about: str, beside: Mapping[str, Stories] | None = None) -> CausalStory:
        """The story of a ruling (`host/record`) or of a tuple (`writer#number`).

        `beside` are hosts of the same process, whose operators it is told to as well. Raises
        `NoStory`.
        """
        sources: dict[str, Ask] = {self._server.config.host.name: self.answer}
        for host, stories in (beside or {}).items():
            sources.setdefault(host, stories.answer)
        for host in sorted(self._server.host.core.group.members):
            sources.setdefault(host, self._peer(host))
        return await _Telling(about, sources).tell()

    def _peer(self, host: str) -> Ask:
        async def ask(question: StoryQuestion) -> StoryAnswer:
            body = msgspec.msgpack.encode(question)
            told = await self._server.host.peer_questions.ask(host, body, seconds=ANSWER_S)
            return _answer.decode(told)

        return ask


class _Telling:
    """One story on its way."""

    def __init__(self, about: str, sources: Mapping[str, Ask]) -> None:
        self._about = about
        self._sources = sources
        self._facts: dict[str, StoryFact] = {}
        self._links: dict[tuple[str, str], StoryLink] = {}
        """From effect and cause."""
        self._left: dict[str, None] = {}
        """What was left out, in words."""
        self._around = 0
        self._edges: dict[str, tuple[int, int]] = {}
        """Of each host what its last answer did not look at: before when, and after when."""
        self._farther_left = FARTHER_MAX

    async def tell(self) -> CausalStory:
        try:
            async with asyncio.timeout(STORY_S):
                roots = await self._roots()
                await self._expand(roots, back=True)
                await self._expand(roots, back=False)
                moves = await self._moves()
        except TimeoutError:
            self._left[f"it took longer than {STORY_S:.0f} s, and was cut there"] = None
            moves = {}
        if not self._facts:
            raise NoStory(about=self._about[:200], left="".join([f"; {one}" for one in self._left]))
        return self._told(moves)

    async def _roots(self) -> list[StoryFact]:
        """What the story is about: a ruling, or all that became of a tuple."""
        host, slash, number = self._about.rpartition("/")
        writer, sharp, count = self._about.rpartition("#")
        roots: list[StoryFact] = []
        if slash and number.isdecimal() and len(number) <= ID_DIGITS_MAX and host in self._sources:
            asked = StoryQuestion(0, record=int(number))
            roots = [fact for _, fact in (await self._ask(host, asked)).found if fact.host == host]
        elif sharp and writer and count.isdecimal() and len(count) <= ID_DIGITS_MAX:
            found = await self._ask_all(StoryQuestion(0, tuple_id=self._about))
            roots = sorted([fact for _, fact in found], key=_order)
            for before, after in pairwise(roots):
                self._link(before, after, "u", sure=True)
        for fact in roots:
            self._facts[fact.id] = fact
        self._around = roots[0].at if roots else 0
        return roots

    # -- along the ties ----------------------------------------------------------------------

    async def _expand(self, facts: list[StoryFact], *, back: bool) -> None:
        for _ in range(FAR_MAX):
            wants: list[Want] = []
            asking: list[StoryFact] = []
            for fact in facts:
                for want in _wants(fact, back=back):
                    wants.append(want)
                    asking.append(fact)
            if not wants:
                return
            if len(wants) > WANTS_MAX:
                self._leave(f"{len(wants) - WANTS_MAX} of the ways on were not followed")
            found = await self._ask_all(StoryQuestion(self._around, tuple(wants[:WANTS_MAX])))
            answers: dict[int, list[StoryFact]] = {}
            for number, fact in found:
                answers.setdefault(number, []).append(fact)
            asked = list(enumerate(zip(asking, wants[:WANTS_MAX], strict=False)))
            lasting = {at: one for at, one in asked if at not in answers and _lasts(*one)}
            answers |= await self._farther(lasting, back=back)
            fresh: dict[str, StoryFact] = {}
            for number, candidates in answers.items():
                if number < len(asking):
                    for one in self._chosen(asking[number], wants[number], candidates):
                        fresh.setdefault(one.id, one)
            facts = []
            for fact in sorted(fresh.values(), key=_order):
                if fact.id in self._facts:
                    continue
                if len(self._facts) >= STEPS_MAX:
                    self._leave(f"there is more; a story has at most {STEPS_MAX} steps")
                    return
                self._facts[fact.id] = fact
                facts.append(fact)
        if facts:
            far = "causes" if back else "consequences"
            self._leave(f"there are further {far}; it goes {FAR_MAX} steps far")

    async def _farther(
        self, lasting: dict[int, tuple[StoryFact, Want]], *, back: bool
    ) -> dict[int, list[StoryFact]]:
        """Look for the other end of holds and duties beyond the window, a few windows far.

        A duty is looked for at once where it was due. What is not found is said, if there are
        records that were not looked at.
        """
        answers: dict[int, list[StoryFact]] = {}
        edges, tried = dict(self._edges), set[int]()

        def edge(fact: StoryFact) -> int:
            return edges.get(fact.host, (0, 0))[not back]

        while lasting := {at: one for at, one in lasting.items() if edge(one[0])}:
            if self._farther_left <= 0:
                break
            self._farther_left -= 1
            first, (fact, _) = next(iter(lasting.items()))
            due = fact.due if not back and first not in tried and fact.due > edge(fact) else 0
            tried.add(first)
            wants = [want for _, want in lasting.values()]
            numbers = list(lasting)
            found = await self._ask_all(StoryQuestion(due or edge(fact), tuple(wants)))
            for at, one in found:
                if at < len(numbers):
                    answers.setdefault(numbers[at], []).append(one)
            if not due:
                edges[fact.host] = self._edges.get(fact.host, (0, 0))
            lasting = {at: one for at, one in lasting.items() if at not in answers}
        for fact, _ in lasting.values():
            when = datetime.fromtimestamp(edge(fact) / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            self._leave(
                f"records of host {fact.host} from {'before' if back else 'after'} {when} were not "
                f"looked at, where a hold or a duty may have {'begun' if back else 'ended'}; "
                "nomospace journal export has all"
            )
        return answers

    def _chosen(self, fact: StoryFact, want: Want, candidates: list[StoryFact]) -> list[StoryFact]:
        """Which of the facts that answer a want are tied to a fact; the ties are noted."""
        kind = want.key[0]
        others = [one for one in {one.id: one for one in candidates}.values() if one.id != fact.id]
        # Of one host the order is certain; the clocks of two may differ.
        others = [
            one
            for one in others
            if one.host != fact.host or (one.record < fact.record) == want.back
        ]
        others.sort(key=lambda one: (abs(one.at - fact.at), abs(one.record - fact.record)))
        if kind == "t":  # terms come and go; those of a message that was held are its story
            others = [one for one in others if (one.held if want.back else fact.held)]
        recorded: list[StoryFact] = []
        if kind in BY_CAUSE:  # whatever a host says, which may know of no causes
            others = [one for one in others if want.takes(one)]
            recorded = [one for one in others if (fact if want.back else one).cause]
        if recorded:
            others = recorded
        elif kind in ("m", "w", "u") or want.back:
            others = others[:1]
        for one in others:
            cause, effect = (one, fact) if want.back else (fact, one)
            self._link(cause, effect, kind, sure=bool(recorded) or kind in ("t", "o", "u"))
        return others

    def _link(self, cause: StoryFact, effect: StoryFact, kind: str, *, sure: bool) -> None:
        how = _HOW[kind]
        if kind == "o" and effect.kind != "obligationDue":
            how = "met"
        if kind in ("t", "o") and cause.held and effect.operations:
            how = "held"
        known = self._links.get((effect.id, cause.id))
        if known is None or (sure and not known.sure):
            self._links[effect.id, cause.id] = StoryLink(cause.id, how, sure)

    async def _moves(self) -> dict[str, StoryFact]:
        """Where the agents of the story left and came, between their first step and their last."""
        lanes: dict[str, list[StoryFact]] = {}
        for fact in self._facts.values():
            lanes.setdefault(fact.lane, []).append(fact)
        names = list(lanes)[:WANTS_MAX]
        wants = tuple([Want(lane, CAME, self._around, True) for lane in names])
        found = await self._ask_all(StoryQuestion(self._around, wants))
        told: dict[str, dict[str, StoryFact]] = {}
        for _, fact in found:
            if fact.kind in MOVES:
                told.setdefault(fact.lane, {})[fact.id] = fact
        moves: dict[str, StoryFact] = {}
        for lane, about in told.items():
            own = lanes.get(lane, [])
            moves |= self._moves_of(own, [*about.values()]) if own else {}
        return moves

    def _moves_of(self, own: list[StoryFact], told: list[StoryFact]) -> dict[str, StoryFact]:
        """The departures and arrivals of an agent among its steps.

        Where only its membership is on record at another host, that it moved there is a guess.
        """
        first, last = min(fact.at for fact in own), max(fact.at for fact in own)
        left = {fact.makes[0]: fact for fact in told if fact.makes}
        came = {(fact.host, fact.at) for fact in told if fact.uses}
        steps = [*own]
        steps += [
            fact for fact in told if fact.makes or fact.uses or (fact.host, fact.at) not in came
        ]
        steps.sort(key=_order)
        moves: dict[str, StoryFact] = {}
        for before, after in pairwise(steps):
            if not first <= after.at <= last or after in own:
                continue
            path, how, sure = after.path, "moved", False
            if after.makes:
                how = "after"
            elif after.uses:
                before = left.get(after.uses[0], before)
                sure = before.kind == DEPARTED
            elif before.host == after.host:
                continue
            else:
                path = (before.host,)
            moves[after.id] = msgspec.structs.replace(after, path=path)
            self._links[after.id, before.id] = StoryLink(before.id, how, sure)
        return moves

    # -- hosts ---------------------------------------------------------------------------------

    async def _ask(self, host: str, question: StoryQuestion) -> StoryAnswer:
        try:
            answer = await self._sources[host](question)
        except (NomospaceError, msgspec.MsgspecError, RecursionError):
            self._leave(f"host {host} gave no answer")
            return _NOTHING
        self._edges[host] = (answer.since, answer.until)
        if answer.cut:
            told = "has more than was asked for" if answer.found else "tells nothing of its journal"
            self._leave(f"host {host} {told}")
        # A host tells of itself alone, whatever it says.
        own = [(number, fact) for number, fact in answer.found if fact.host == host]
        return StoryAnswer(tuple(own[: FOUND_MAX * WANTS_MAX]))

    async def _ask_all(self, question: StoryQuestion) -> list[tuple[int, StoryFact]]:
        answers = await asyncio.gather(*[self._ask(host, question) for host in self._sources])
        return [one for answer in answers for one in answer.found]

    def _leave(self, words: str) -> None:
        self._left[words] = None

    # -- what is told ----------------------------------------------------------------------------

    def _told(self, moves: Mapping[str, StoryFact]) -> CausalStory:
        facts = sorted((*self._facts.values(), *moves.values()), key=_order)
        known = {fact.id: fact for fact in facts}
        causes: dict[str, list[StoryLink]] = {}
        until: dict[str, int] = {}
        for (effect, cause), link in self._links.items():
            if effect in known and cause in known:
                causes.setdefault(effect, []).append(link)
                if link.how in ("held", "due", "met"):
                    until[cause] = max(until.get(cause, 0), known[effect].at)
        if any(fact.hidden for fact in facts):
            self._leave("hosts that do not tell others the words of their journals left them out")
        lanes: dict[str, dict[str, None]] = {}
        for fact in facts:
            lanes.setdefault(fact.lane, {})[fact.host] = None
        return CausalStory(
            self._about,
            tuple([_step(fact, causes.get(fact.id, []), known, until) for fact in facts]),
            tuple([StoryLane(lane, tuple(hosts)) for lane, hosts in lanes.items()]),
            tuple(dict.fromkeys(fact.host for fact in facts)),
            tuple(self._left),
        )


_HOW: Final = {
    "m": "sent",
    "t": "held",
    "o": "due",
    "w": "written",
    "u": "then",
    "p": "after",
}


def _wants(fact: StoryFact, *, back: bool) -> list[Want]:
    """What a fact has to be tied to others by: whom to ask for each of its keys."""
    wants: list[Want] = []
    for key in fact.uses if back else fact.makes:
        kind, *of = key.split("\x1f")
        if kind == "u":
            wants.append(Want(of[0], key, fact.at, back))
        elif kind in BY_CAUSE:
            maker, user = of[:2]
            cause = fact.cause if back else fact.ruling
            if back and cause:  # a law may have another named as the sender
                maker = cause.split("\x1f")[1]
            wants.append(Want(maker if back else user, key, fact.at, back, cause=cause))
        elif kind == "t" and not back and not fact.held:
            continue
        else:
            wants.append(Want(of[0], key, fact.at, back, parts=fact.parts if kind == "p" else ()))
    if fact.heard and not back:
        wants.append(Want(fact.lane, tie("p", fact.lane), fact.at, back, parts=fact.parts))
    return wants


def _lasts(fact: StoryFact, want: Want) -> bool:
    """Whether what a want asks for may be long before, or long after: a duty, or a hold."""
    if want.key[0] == "t":
        return fact.kind != "sent" and bool(fact.operations) if want.back else fact.held
    return want.key[0] == "o"


def _order(fact: StoryFact) -> tuple[int, str, int]:
    return fact.at, fact.host, fact.record


def _step(
    fact: StoryFact,
    causes: list[StoryLink],
    known: Mapping[str, StoryFact],
    until: Mapping[str, int],
) -> StoryStep:
    sure = [known[link.id].at for link in causes if link.sure and link.how != "met"]
    return StoryStep(
        id=fact.id,
        took=max(0, fact.at - max(sure)) if sure else None,
        until=until.get(fact.id, fact.until),
        causes=tuple(causes),
        **{name: getattr(fact, name) for name in _AS_TOLD},
    )


_AS_TOLD: Final = (
    {field.name for field in fields(StoryStep)} & set(StoryFact.__struct_fields__)
) - {"until"}
"""What a step has as its fact has it."""
