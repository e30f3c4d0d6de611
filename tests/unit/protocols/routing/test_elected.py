"""Three servers of a domain: votes, terms, and what a majority has."""

from __future__ import annotations

import pytest

from nomospace.protocols.routing.changes import RecordPut
from nomospace.protocols.routing.elected import TERMS_AHEAD_MAX, ElectedServer
from nomospace.protocols.routing.frames import (
    AgentEnded,
    AskVote,
    BeatHeard,
    Frame,
    NotPrimary,
    Post,
    PrimaryBeat,
    QueueFull,
    RecordAck,
    Register,
    Rejoin,
    Replicate,
    Replicated,
    SeekAgent,
    ServerSnapshot,
    Vote,
    WhoServes,
)
from nomospace.protocols.routing.interface import Effect, Noted, SayFrame, TransmitFrame
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import Places
from nomospace.protocols.routing.records import HERE
from nomospace.protocols.routing.replicas import PRIMARY, STANDBY
from nomospace.protocols.routing.server import DomainServer
from nomospace.protocols.routing.standby import PairedServer

SITES = ("q1", "q2", "q3")
ANN, BOB, CLEO = "ann@lab", "bob@lab", "cleo@lab"
SILENCE = 1_000


class Three:
    """Three servers that have met, and a network that can be cut; frames to others are kept."""

    def __init__(self, **limits: int) -> None:
        self.limits = RoutingLimits(silence=SILENCE, **limits)
        self.now = 0
        self.away: set[str] = set()
        self.cores = {site: self.made(site) for site in SITES}
        self.others: list[tuple[str, Frame]] = []
        self.notes: list[str] = []
        self.run(1)

    def made(self, site: str) -> ElectedServer:
        places = Places({"lab": SITES})
        server = DomainServer(site, "lab", places, limits=self.limits)
        return ElectedServer(server, now=self.now)

    def again(self, site: str) -> None:
        """A server is killed, and starts from its disk."""
        changes, self.cores[site] = self.cores[site].changes(), self.made(site)
        self.cores[site].restore(changes, now=self.now)

    def carry(self, site: str, effects: list[Effect]) -> None:
        for each in effects:
            if isinstance(each, Noted):
                self.notes.append(each.what)
            elif isinstance(each, TransmitFrame | SayFrame) and site not in self.away:
                if each.site not in self.cores:
                    self.others.append((each.site, each.frame))
                elif each.site != site and each.site not in self.away:
                    self.tell(each.site, each.frame, site)

    def tell(self, site: str, frame: Frame, src: str = "s") -> None:
        self.carry(site, self.cores[site].hear(src, frame, now=self.now))

    def run(self, silences: float) -> None:
        """Let time pass."""
        until = self.now + int(silences * SILENCE)
        while True:
            due = {site: core.next_deadline() for site, core in self.cores.items()}
            site = min((one for one in due if one not in self.away), key=due.__getitem__)
            if due[site] > until:
                self.now = until
                return
            self.now = max(self.now, due[site])
            self.carry(site, self.cores[site].tick(now=self.now))

    def primaries(self) -> list[str]:
        return [site for site, core in self.cores.items() if core.role is PRIMARY]

    def knows(self, site: str, agent: str) -> bool:
        record = self.cores[site].server.record(agent)
        return record is not None and record.kind is HERE

    def ask(self, site: str, frame: Frame) -> list[Frame]:
        """What a daemon is answered."""
        self.others.clear()
        self.tell(site, frame)
        return [frame for to, frame in self.others if to == "s"]


def test_an_answer_waits_for_one_of_the_two_others_and_not_for_both() -> None:
    three = Three()
    three.away = {"q2", "q3"}
    assert three.ask("q1", Register("lab", ANN, 0)) == []
    three.away = {"q3"}
    assert three.ask("q1", Register("lab", BOB, 0)) == []  # the first step is still missing
    three.run(3)
    assert three.others[:2] == [("s", RecordAck("lab", ANN, 0)), ("s", RecordAck("lab", BOB, 0))]
    assert [three.knows(site, ANN) for site in SITES] == [True, True, False]


def test_two_choose_another_primary_which_knows_all_and_the_old_one_follows() -> None:
    three = Three()
    assert three.ask("q1", Register("lab", ANN, 0)) == [RecordAck("lab", ANN, 0)]
    three.away = {"q1"}
    three.run(3)
    assert three.primaries() == ["q1", "q2"]
    assert three.cores["q2"].term == 1
    assert three.ask("q2", Register("lab", BOB, 0)) == [RecordAck("lab", BOB, 0, term=1)]
    three.away = set()
    three.again("q1")
    three.run(3)
    assert three.primaries() == ["q2"]
    assert [three.knows(site, BOB) for site in SITES] == [True, True, True]
    assert [core.leader for core in three.cores.values()] == ["q2"] * 3
    three.away = {"q2"}
    three.run(3)
    assert three.primaries() == ["q1", "q2"]
    assert three.ask("q1", Register("lab", BOB, 0)) == [RecordAck("lab", BOB, 0, term=2)]


def test_a_minority_elects_nobody_and_answers_nobody() -> None:
    three = Three()
    three.away = {"q2", "q3"}
    three.run(20)
    assert (three.primaries(), three.cores["q1"].term) == (["q1"], 0)
    assert three.ask("q1", Register("lab", ANN, 0)) == []
    three.away = {"q1", "q3"}
    three.run(20)
    assert three.primaries() == ["q1"]
    assert [core.term for core in three.cores.values()] == [0, 0, 0], "trials change no term"


def test_what_the_old_primary_heard_in_vain_goes_to_the_new_one_once() -> None:
    three = Three()
    three.ask("q1", Register("lab", ANN, 0))
    three.away = {"q2", "q3"}
    three.ask("q1", AgentEnded("lab", ANN, 0))
    assert three.ask("q1", Register("lab", BOB, 0)) == []
    three.away = {"q1"}
    three.run(3)
    assert three.primaries() == ["q1", "q2"]
    assert three.knows("q2", ANN)
    three.again("q1")
    three.away = set()
    three.others.clear()
    three.run(3)
    assert [three.knows(site, ANN) for site in SITES] == [False] * 3
    assert [three.knows(site, BOB) for site in SITES] == [False] * 3
    # Its daemon is told whom to ask again. Nobody passes a birth on: it might come very late.
    assert ("s", NotPrimary("lab", "q2", 1)) in three.others
    assert not [frame for _, frame in three.others if isinstance(frame, RecordAck)]


def test_what_a_majority_has_is_let_out_by_who_comes_after() -> None:
    three = Three()
    copies = three.cores["q1"].hear("s", Register("lab", ANN, 0), now=three.now)
    to_third = [e.frame for e in copies if isinstance(e, TransmitFrame) and e.site == "q3"]
    three.cores["q3"].hear("q1", to_third[0], now=0)  # q1 dies before it hears that q3 has it
    three.away = {"q1"}
    three.run(4)
    assert three.primaries() == ["q1", "q3"], "q2 has less, and is given no vote"
    assert three.others.count(("s", RecordAck("lab", ANN, 0, term=three.cores["q3"].term))) == 1
    assert three.knows("q2", ANN)


def test_a_vote_is_given_once_in_a_term_over_a_restart_too() -> None:
    three = Three()
    third = three.cores["q3"]
    third.hear("q2", AskVote("lab", 5, 1, 0, trial=False), now=0)
    three.again("q3")
    answers = [
        three.cores["q3"].hear(src, AskVote("lab", 5, 1, 0, trial=False), now=0)[-1]
        for src in ("q1", "q2")
    ]
    assert answers == [
        SayFrame("q1", Vote("lab", 5, False, False, 5)),
        SayFrame("q2", Vote("lab", 5, False, True, 5)),
    ]


def test_who_has_less_is_given_no_vote_and_who_has_nothing_gives_none() -> None:
    three, no = Three(), Vote("lab", 1, False, False, 1)
    three.ask("q1", Register("lab", ANN, 0))
    less, enough = (AskVote("lab", 1, step, 0, trial=False) for step in (1, 2))
    assert three.cores["q2"].hear("q3", less, now=0)[-1] == SayFrame("q3", no)
    three.cores["q3"] = three.made("q3")  # its store is a new one
    assert three.cores["q3"].hear("q2", enough, now=0)[-1] == SayFrame("q2", no)


def test_who_was_killed_before_anybody_had_its_first_step_votes_when_it_is_back() -> None:
    three = Three()
    three.cores = {site: three.made(site) for site in SITES}
    for each in three.cores["q1"].hear("q2", BeatHeard("lab", 0, 0, 0), now=three.now):
        if isinstance(each, TransmitFrame):
            three.cores[each.site].hear("q1", each.frame, now=three.now)
    three.away = {"q1"}
    three.run(3)
    assert three.primaries() == ["q1", "q2"]
    three.again("q1")
    three.away = {"q2"}
    three.run(4)
    assert [three.cores[site].leader for site in ("q1", "q3")] == ["q3", "q3"]


@pytest.mark.parametrize("served", [False, True])
def test_servers_that_come_long_after_the_first_are_heard_and_follow(served: bool) -> None:
    three = Three()
    three.cores = {site: three.made(site) for site in SITES}
    if served:
        three.cores["q1"].restore([RecordPut(ANN, "HERE", "s", 0)], now=three.now)
    assert three.ask("q1", Register("lab", BOB, 0)) == []
    three.away = {"q2", "q3"}
    three.run(5)
    three.away = set()
    three.run(5)
    assert three.others == [("s", RecordAck("lab", BOB, 0))]
    assert [three.knows(site, BOB) for site in SITES] == [True] * 3
    assert [three.knows(site, ANN) for site in SITES] == [served] * 3
    three.away = {"q1"}
    three.run(3)
    assert three.primaries() == ["q1", "q2"]


def test_what_is_of_an_earlier_term_counts_for_nothing() -> None:
    three = Three()
    three.away = {"q1"}
    three.run(3)
    second = three.cores["q2"]
    step = Replicate("lab", 0, 1, (), (), 0)
    before = second.state()
    for frame in (step, Replicated("lab", 0, 9), Rejoin("lab", 0), ServerSnapshot("lab", 0, 9, ())):
        assert [type(each) for each in second.hear("q3", frame, now=three.now)] == [Noted]
    assert second.state() == before
    heard = second.hear("q1", PrimaryBeat("lab", 0, 0, 0, SITES), now=three.now)
    assert heard == [SayFrame("q1", BeatHeard("lab", 1, 2, 1))], "it hears of the later term"
    assert second.role is PRIMARY


def test_a_term_of_the_future_is_not_followed() -> None:
    three = Three()
    third, far = three.cores["q3"], TERMS_AHEAD_MAX + 1
    before = third.state()
    frames: list[Frame] = [
        AskVote("lab", far, 0, 0, trial=False),
        PrimaryBeat("lab", far, 0, 0, SITES),
        Vote("lab", 1, True, False, far),
        Replicate("lab", far, 1, (), (), 0),
    ]
    for frame in frames:
        [noted] = third.hear("q1", frame, now=0)
        assert isinstance(noted, Noted)
        assert noted.what == "a term of the future"
    assert third.state() == before


def test_servers_that_disagree_about_the_list_do_not_follow_and_say_so_once() -> None:
    three = Three()
    third = three.cores["q3"]
    beat = PrimaryBeat("lab", 7, 0, 0, ("q1", "q3", "q4"))
    [noted] = third.hear("q1", beat, now=0)
    assert isinstance(noted, Noted)
    assert noted.facts[0] == "the [servers] of 'lab' are not the same at q3 and at q1"
    assert third.hear("q1", beat, now=0) == []
    assert third.term == 0
    [stranger] = third.hear("q4", AskVote("lab", 1, 9, 0, trial=False), now=0)
    assert isinstance(stranger, Noted)
    assert third.term == 0


def test_a_primary_that_lost_its_store_leaves_the_place_to_who_has_more() -> None:
    three = Three()
    three.ask("q1", Register("lab", ANN, 0))
    three.cores["q1"] = three.made("q1")
    three.run(4)
    assert three.primaries() == ["q2"]
    assert "forgot its steps" in three.notes
    assert three.knows("q1", ANN)


def test_one_that_is_far_behind_is_sent_no_more_and_gets_everything_when_it_is_back() -> None:
    three = Three(steps_max=3)
    three.away = {"q3"}
    for number in range(9):
        three.ask("q1", Register("lab", f"a{number}@lab", 0))
    copies = three.cores["q1"].hear("s", Register("lab", ANN, 0), now=three.now)
    assert [each.site for each in copies if isinstance(each, TransmitFrame)] == ["q2"]
    three.carry("q1", copies)
    three.away = set()
    three.run(3)
    assert three.cores["q3"].server.changes() == three.cores["q1"].server.changes()


def test_without_a_primary_frames_are_kept_within_a_bound_and_survive() -> None:
    three = Three(steps_max=2)
    third = three.cores["q3"]
    third.hear("q2", AskVote("lab", 1, 0, 0, trial=False), now=0)
    assert (third.role, third.leader) == (STANDBY, "")
    seek = SeekAgent("lab", Post(ANN, BOB, 1, "x", "s"))
    assert three.ask("q3", seek) == three.ask("q3", seek) == []
    assert [type(frame) for frame in three.ask("q3", seek)] == [QueueFull]
    three.again("q3")
    three.others.clear()
    three.run(4)
    assert len(three.primaries()) == 1
    returned = [frame for _, frame in three.others if type(frame).__name__ == "PostReturned"]
    assert len(returned) == 2


def test_who_asks_is_told_of_a_later_primary_and_of_no_other() -> None:
    three = Three()
    assert three.ask("q2", WhoServes("lab", 0)) == []
    three.away = {"q1"}
    three.run(3)
    assert three.ask("q3", WhoServes("lab", 0)) == [NotPrimary("lab", "q2", 1)]
    assert three.ask("q3", WhoServes("lab", 1)) == []


def test_a_copy_is_apart_and_a_restart_is_the_same() -> None:
    three = Three()
    three.ask("q1", Register("lab", ANN, 0))
    three.away = {"q1"}
    three.run(3)
    for core in three.cores.values():
        twin = core.copy()
        assert twin.state() == core.state()
        core.hear("q2" if core.site != "q2" else "q3", AskVote("lab", 9, 9, 9, trial=False), now=0)
        assert twin.state() != core.state()


def test_a_primary_that_a_majority_does_not_hear_is_not_one_for_long() -> None:
    three = Three()
    three.away = {"q1"}
    three.run(3)
    [noted_term] = {core.term for site, core in three.cores.items() if site != "q1"}
    three.away = set()
    first = three.cores["q1"]
    three.carry("q1", first.hear("q2", BeatHeard("lab", noted_term, 1, noted_term), now=three.now))
    assert (first.role, first.term, first.leader) == (STANDBY, noted_term, "")


def test_who_served_alone_brings_what_it_has_to_three() -> None:
    alone, limits = Places({"lab": ("q1",)}), RoutingLimits(silence=SILENCE)
    before = DomainServer("q1", "lab", alone, limits=limits)
    before.hear("s", Register("lab", ANN, 0), now=0)
    three = Three()
    three.cores = {site: three.made(site) for site in SITES}
    three.cores["q1"].restore(before.changes(), now=three.now)
    three.run(3)
    assert [three.knows(site, ANN) for site in SITES] == [True] * 3


@pytest.mark.parametrize("first", ["q1", "q2"])
def test_who_served_with_one_other_or_without_it_brings_what_it_has_to_three(first: str) -> None:
    two, limits = Places({"lab": ("q1", "q2")}), RoutingLimits(silence=SILENCE)
    pair = {
        site: PairedServer(DomainServer(site, "lab", two, limits=limits)) for site in ("q1", "q2")
    }
    copies = pair["q1"].hear("s", Register("lab", ANN, 0), now=0)
    assert isinstance(copies[-1], TransmitFrame)
    pair["q2"].hear("q1", copies[-1].frame, now=0)
    pair[first].take_over(1) if first == "q2" else pair[first].standby_away()
    pair[first].hear("s", Register("lab", BOB, 0), now=0)
    three = Three()
    three.cores = {site: three.made(site) for site in SITES}
    for site, core in pair.items():
        three.cores[site].restore(core.changes(), now=three.now)
    three.run(4)
    assert three.primaries() == [first]
    assert three.ask(first, Register("lab", CLEO, 0)) != []
    for agent in (ANN, BOB, CLEO):
        assert [three.knows(site, agent) for site in SITES] == [True] * 3


class Late(Three):
    """Three servers that hear each other late from now on, all by the same time."""

    delay = 0

    def carry(self, site: str, effects: list[Effect]) -> None:
        if not self.delay:
            super().carry(site, effects)
            return
        for each in effects:
            if isinstance(each, TransmitFrame | SayFrame) and each.site in self.cores:
                self.under_way.append((self.now + self.delay, each.site, each.frame, site))

    def elect(self, delay: int) -> int:
        """After how long there is another primary, when the first is gone."""
        self.away.add("q1")
        self.delay, self.under_way = delay, list[tuple[int, str, Frame, str]]()
        began = self.now
        while self.primaries() == ["q1"] and self.now - began < 100 * SILENCE:
            due = min([core.next_deadline() for core in self.live()])
            heard = self.under_way[0][0] if self.under_way else due
            self.now = max(self.now, min(due, heard))
            if heard <= due and self.under_way:
                _, site, frame, src = self.under_way.pop(0)
                if site not in self.away:
                    self.tell(site, frame, src)
                continue
            for core in self.live():
                self.carry(core.site, core.tick(now=self.now))
        return self.now - began

    def live(self) -> list[ElectedServer]:
        return [core for site, core in self.cores.items() if site not in self.away]


@pytest.mark.parametrize("delay", [SILENCE // 100, SILENCE // 6, SILENCE // 3, SILENCE * 2 // 5])
def test_who_hear_each_other_late_choose_in_one_round(delay: int) -> None:
    slot = SILENCE // (2 * len(SITES))
    assert Late().elect(delay) == SILENCE + slot + 4 * delay, "a trial and votes, there and back"
