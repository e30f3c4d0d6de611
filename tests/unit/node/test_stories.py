"""Stories: what facts are tied by, what is certain and what is not, and where they end."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
import pytest

from nomospace.control import TICK, Membership, adopt, sent
from nomospace.control.events import RecordRuling, arrived
from nomospace.host.effects import PeerTold
from nomospace.law import load
from nomospace.node.peer_questions import PeerQuestions, PeerSilent
from nomospace.node.stories import telling
from nomospace.node.stories.facts import StoryFact, fact_of, outline, tie
from nomospace.node.stories.telling import NoStory, StoryAnswer, StoryQuestion
from nomospace.node.stories.window import AT_ONCE_US, Want, Window
from nomospace.node.viewed import CausalStory
from nomospace.protocols.questions import PeerAnswer, PeerQuestion
from nomospace.store.journal import EventRecord
from nomospace.terms import Term, term
from nomospace.wire.changes import encode_ruling

LAW: Final = load(
    """
    law(told).
    initialCS([]).
    R1. sent(_, keep(M), Y) :- do(+kept(M, Y)), do(imposeObligation(go(M), 1, hour)).
    R2. obligationDue(go(M)) :- kept(M, Y)@CS, do(-kept(M, Y)), do(forward(Self, M, Y)).
    R5. sent(_, as(X, M), Y) :- do(forward(X, M, Y)).
    R3. sent(_, _, _) :- do(forward).
    R4. arrived(_, _, _) :- do(deliver).
    """,
    "told",
)
MS: Final = 1_000


class Journal:
    """A window that rulings of members are written into."""

    def __init__(self, host: str = "ward") -> None:
        self.host = host
        self.window = Window()
        self.facts: list[StoryFact] = []
        self.members: dict[str, Membership] = {}

    def member(self, home: str) -> Membership:
        if home not in self.members:
            self.members[home] = adopt(LAW, home, now=0)[0]
        return self.members[home]

    def keep(self, effects: list[object], cause: int = 0, by: str = "") -> StoryFact:
        for effect in effects:
            if isinstance(effect, RecordRuling):
                body = encode_ruling(effect.ruling)
                record = EventRecord(self.host, "told", body, cause=cause, by=by)
                number = len(self.facts) + 1
                self.window.add(number, record)
                fact = fact_of(number, record)
                assert fact is not None
                self.facts.append(fact)
        return self.facts[-1]

    def sends(self, home: str, message: str, to: str, at: int) -> StoryFact:
        return self.keep([*self.member(home).handle(sent(home, term(message), to), now=at)])

    def hears(
        self, home: str, message: str, sender: str, at: int, cause: int = 0, by: str = ""
    ) -> StoryFact:
        said: Term = term(message)
        heard = self.member(home).handle(arrived(sender, said, home), now=at)
        return self.keep([*heard], cause, by)

    async def answer(self, asked: StoryQuestion) -> StoryAnswer:
        if asked.record:
            return StoryAnswer(((0, self.facts[asked.record - 1]),))
        found = [
            (at, fact) for at, want in enumerate(asked.wants) for fact in self.window.find(want)
        ]
        return StoryAnswer(tuple(found))


class Paged(Journal):
    """A journal of which a question sees only some records before a moment, and after it."""

    seen = 5

    async def answer(self, asked: StoryQuestion) -> StoryAnswer:
        if asked.record:
            return await super().answer(asked)
        middle = sum(fact.at <= asked.around for fact in self.facts)
        first, end = max(0, middle - self.seen), middle + self.seen
        part = self.facts[first:end]
        found = [
            (at, fact)
            for at, want in enumerate(asked.wants)
            for fact in self.window.find(want)
            if fact in part
        ]
        since = part[0].at if first else 0
        return StoryAnswer(tuple(found), False, since, part[-1].at if end < len(self.facts) else 0)


def told(about: str, *journals: Journal) -> CausalStory:
    sources = {journal.host: journal.answer for journal in journals}
    return asyncio.run(telling._Telling(about, sources).tell())


def causes(story: CausalStory) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    return [
        (step.id, [(link.id, link.how, link.sure) for link in step.causes]) for step in story.steps
    ]


def test_a_hold_lasts_until_what_was_kept_goes_on() -> None:
    here = Journal()
    held = here.sends("ann@ward", "keep(job(1, 2))", "bob@ward", 0)
    here.sends("ann@ward", "other(1)", "bob@ward", 5 * MS)
    due = here.member("ann@ward").next_deadline()
    assert due is not None
    let_go = here.keep([*here.member("ann@ward").handle(TICK, now=due)])
    came = here.hears("bob@ward", "job(1, 2)", "ann@ward", due + MS, let_go.seq)
    story = told(held.id, here)
    assert causes(story) == [
        (held.id, []),
        (let_go.id, [(held.id, "held", True)]),
        (came.id, [(let_go.id, "sent", True)]),
    ]
    assert (story.steps[0].held, story.steps[0].until) == (True, due)
    assert [step.took for step in story.steps] == [None, due, MS]
    assert causes(told(came.id, here)) == causes(story)


def test_a_duty_that_lasts_is_found_where_it_was_due() -> None:
    here = Paged()
    held = here.sends("ann@ward", "keep(job(1, 2))", "bob@ward", 0)
    due = here.member("ann@ward").next_deadline()
    assert due is not None
    for at in range(100):
        here.sends("eve@ward", f"other({at})", "bob@ward", at * MS)
    let_go = here.keep([*here.member("ann@ward").handle(TICK, now=due)])
    story = told(held.id, here)
    assert causes(story) == [(held.id, []), (let_go.id, [(held.id, "held", True)])]
    assert (story.steps[0].due, story.left) == (due, ())


def test_what_lies_beyond_all_windows_is_said() -> None:
    here = Paged()
    here.sends("ann@ward", "keep(job(1, 2))", "bob@ward", 0)
    due = here.member("ann@ward").next_deadline()
    assert due is not None
    between = 2 * Paged.seen * telling.FARTHER_MAX
    for at in range(between):
        here.sends("eve@ward", f"other({at})", "bob@ward", (at + 1) * 1_000_000)
    let_go = here.keep([*here.member("ann@ward").handle(TICK, now=due)])
    story = told(let_go.id, here)
    assert [step.id for step in story.steps] == [let_go.id]
    left = "records of host ward from before 1970-01-01 00:00:21 UTC were not looked at, where a "
    assert story.left == (f"{left}hold or a duty may have begun; nomospace journal export has all",)
    here.seen = between
    assert told(let_go.id, here).left == ()


def test_messages_of_before_their_cause_was_on_record_are_paired_by_nearness() -> None:
    here = Journal()
    first = here.sends("ann@ward", "go(1)", "bob@ward", 0)
    came = here.hears("bob@ward", "go(1)", "ann@ward", MS)
    assert causes(told(came.id, here))[1] == (came.id, [(first.id, "sent", False)])
    assert causes(told(first.id, here))[1] == (came.id, [(first.id, "sent", False)])


def test_equal_messages_are_paired_by_the_ruling_that_sent_them() -> None:
    here = Journal()
    sends = [here.sends("ann@ward", "go(1)", "bob@ward", at * MS) for at in range(100)]
    # They come in another order than they went.
    comes = [here.hears("bob@ward", "go(1)", "ann@ward", 200 * MS, one.seq) for one in sends[::-1]]
    for went, came in zip(sends, comes[::-1], strict=True):
        pair = [(went.id, []), (came.id, [(went.id, "sent", True)])]
        assert causes(told(came.id, here)) == causes(told(went.id, here)) == pair
    # Who sent it is on record too, where a law has another named as the sender.
    posed = here.sends("eve@ward", "as('ann@ward', go(1))", "bob@ward", 300 * MS)
    came = here.hears("bob@ward", "go(1)", "ann@ward", 301 * MS, posed.seq, "eve@ward")
    pair = [(posed.id, []), (came.id, [(posed.id, "sent", True)])]
    assert causes(told(came.id, here)) == causes(told(posed.id, here)) == pair


def test_what_a_program_did_after_it_heard_something_is_marked_as_a_guess() -> None:
    here = Journal()
    here.sends("eve@ward", "hint(a, b)", "ann@ward", 0)
    hint = here.hears("ann@ward", "hint(a, b)", "eve@ward", MS)
    here.hears("ann@ward", "noise", "eve@ward", 2 * MS)
    late = AT_ONCE_US + 10 * MS
    said = here.sends("ann@ward", "tell(hint(a, b))", "bob@ward", late)
    else_ = here.sends("ann@ward", "tell(c, d)", "bob@ward", 2 * late)
    story = told(said.id, here)
    assert (said.id, [(hint.id, "after", False)]) in causes(story)
    assert causes(told(else_.id, here)) == [(else_.id, [])]  # nothing was heard just before


def test_hosts_are_asked_for_what_lies_elsewhere_and_what_they_hide_is_marked() -> None:
    here, there = Journal("ward"), Journal("icu")
    went = here.sends("ann@ward", "secret(1)", "bob@icu", 0)
    there.hears("bob@icu", "secret(1)", "ann@ward", MS)

    async def shy(asked: StoryQuestion) -> StoryAnswer:
        found = (await there.answer(asked)).found
        return StoryAnswer(tuple([(number, outline(fact)) for number, fact in found]))

    async def liar(asked: StoryQuestion) -> StoryAnswer:
        del asked
        forged = msgspec.structs.replace(went, text="forged", record=99)
        return StoryAnswer(((0, forged), (7, forged)))

    async def silent(asked: StoryQuestion) -> StoryAnswer:
        del asked
        raise PeerSilent(peer="lab", seconds=1)

    async def close(asked: StoryQuestion) -> StoryAnswer:
        del asked
        return StoryAnswer((), cut=True)

    sources = {"ward": here.answer, "icu": shy, "inn": liar, "lab": silent, "safe": close}
    story = asyncio.run(telling._Telling(went.id, sources).tell())
    assert [(step.host, step.hidden) for step in story.steps] == [("ward", False), ("icu", True)]
    assert "secret" not in str(story.steps[1])
    assert story.left == (
        "host lab gave no answer",
        "host safe tells nothing of its journal",
        "hosts that do not tell others the words of their journals left them out",
    )


def test_a_story_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Journal()
    first = here.sends("ann@ward", "go(0, 0)", "bob@ward", 0)
    who = ("ann@ward", "bob@ward")
    for at in range(20):
        here.hears(who[(at + 1) % 2], f"go({at}, 0)", who[at % 2], (2 * at + 1) * MS)
        here.sends(who[(at + 1) % 2], f"go({at + 1}, 0)", who[at % 2], (2 * at + 2) * MS)
    assert len(told(first.id, here).steps) == telling.FAR_MAX + 1
    assert told(first.id, here).left == (
        f"there are further consequences; it goes {telling.FAR_MAX} steps far",
    )
    monkeypatch.setattr(telling, "STEPS_MAX", 5)
    short = told(first.id, here)
    assert len(short.steps) == 5
    assert short.left == ("there is more; a story has at most 5 steps",)
    for nonsense in ("", "ward", "ward/", "ward/x", "inn/1", f"ward/{'9' * 40}", "#1", "ann@ward#"):
        with pytest.raises(NoStory):
            told(nonsense, here)


def test_a_window_finds_by_lane_and_key_alone() -> None:
    here = Journal()
    fact = here.sends("ann@ward", "go(1)", "bob@ward", 0)
    key = fact.makes[0]
    assert here.window.find(Want("ann@ward", key, 0, True)) == [fact]
    assert here.window.find(Want("bob@ward", key, 0, True)) == []
    assert here.window.find(Want("ann@ward", tie("m", "x"), 0, True)) == []


def test_questions_between_drivers_are_bounded() -> None:
    async def program() -> None:
        said: list[object] = []
        questions = PeerQuestions(said.append)
        with pytest.raises(PeerSilent):
            await questions.ask("icu", b"?", seconds=0.01)
        with pytest.raises(PeerSilent):
            await questions.ask("icu", b"?" * 200_000, seconds=1)
        asking = asyncio.ensure_future(questions.ask("icu", b"?", seconds=60))
        await asyncio.sleep(0)
        number = said[-1].talk.number  # type: ignore[attr-defined]
        questions.told(PeerTold("lab", PeerAnswer(number, b"forged")))
        questions.told(PeerTold("icu", PeerAnswer(number, b"!")))
        assert await asking == b"!"
        questions.told(PeerTold("icu", PeerAnswer(number, b"late")))
        questions.told(PeerTold("icu", PeerQuestion(1, b"?")))  # nobody answers here

        async def echo(peer: str, body: bytes) -> bytes:
            return body + peer.encode()

        questions.answer = echo
        questions.told(PeerTold("icu", PeerQuestion(7, b"?")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert said[-1].talk == PeerAnswer(7, b"?icu")  # type: ignore[attr-defined]

    asyncio.run(program())
