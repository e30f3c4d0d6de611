"""Our routing, over every order of what may happen: no endless wait, no loss, no repeat, in order.

Small worlds of 2 domains, 3 sites and 2 agents; larger ones, with every choice of who sends and who
goes where, by `python -m tests.models.explore_routing --help`. The first three are those in which
the published algorithm waits for ever (`paper/test_003_4_2_published.py`).
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nomospace.protocols.routing.changes import LastGot, PostKept
from nomospace.protocols.routing.daemon import Daemon
from nomospace.protocols.routing.frames import Frame, Post, QueueFull, SeekAgent
from nomospace.protocols.routing.interface import DeliverPost, Effect, PersistChange, TransmitFrame
from nomospace.protocols.routing.records import HERE, MOVING, Kind
from nomospace.protocols.routing.server import DomainServer
from nomospace_lab.sim.algorithms import FQSC
from nomospace_lab.testing.explore import Exploration
from tests.models.routed import Plan, Routed, State

ANN, BOB = "ann@lab", "bob@ward"
TO_BOB, TO_ANN = (ANN, BOB), (BOB, ANN)
BACK = ((BOB, ("s1", "s3")),)
"""Bob moves to Ann's site in the other domain, and back to where he was."""


def proved(plan: Plan) -> Exploration[State, str]:
    found = Routed(plan).explore(states_max=300_000, seconds_max=600)
    assert found.proved, "\n".join([str(found), *map(str, found.findings)])
    return found


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(sends=(TO_BOB, TO_ANN)), id="servers that forward to each other"),
        pytest.param(Plan(routes=((ANN, ("s3",)), (BOB, ("s1",)))), id="agents that cross"),
        pytest.param(
            Plan(sends=(TO_BOB,), routes=((BOB, ("s1",)),)),
            id="a message and its target that cross",
        ),
    ],
)
def test_where_the_published_algorithm_waits_for_ever_ours_comes_to_an_end(plan: Plan) -> None:
    assert proved(plan).ends > 0


def test_two_agents_write_to_each_other_while_they_cross() -> None:
    found = proved(Plan(sends=(TO_BOB, TO_ANN), routes=((ANN, ("s3",)), (BOB, ("s1",)))))
    assert found.states > 50_000


def test_order_is_kept_when_the_receiver_moves_on_and_when_it_comes_back() -> None:
    on = proved(Plan(sends=(TO_BOB, TO_BOB), routes=((BOB, ("s1", "s2")),)))
    back = proved(Plan(sends=(TO_BOB, TO_BOB), routes=BACK))
    assert min(on.states, back.states) > 20_000


def test_order_is_kept_when_the_sender_moves() -> None:
    assert proved(Plan(sends=(TO_BOB, TO_BOB), routes=((ANN, ("s3", "s2")),))).states > 2_000


def test_a_full_queue_only_delays() -> None:
    """Posts come back to their origin and are tried again; that ends, whatever the order."""
    assert proved(Plan(sends=(TO_BOB, TO_BOB), routes=((BOB, ("s1",)),), queue_max=1)).proved
    routed = Routed(Plan(sends=(TO_BOB,), routes=BACK, queue_max=0, early_max=0))
    found = routed.explore(seconds_max=600)
    assert found.proved
    assert found.transitions > 2 * found.states


@pytest.mark.parametrize("passes", [1, 2])
def test_a_post_that_was_passed_on_too_often_gets_there_after_a_pause(passes: int) -> None:
    """It goes on from the server that gave it back; from the one before it would turn for ever."""
    routed = Routed(Plan(sends=(TO_BOB,), routes=BACK, passes_max=passes))
    assert routed.explore(seconds_max=600).proved
    assert routed.notes["astray"] > 0


def test_a_handover_may_be_refused_or_given_up() -> None:
    proved(Plan(sends=(TO_BOB,), routes=((ANN, ("s3",)), (BOB, ("s1",))), refusals=1))
    proved(Plan(sends=(TO_BOB,), routes=((BOB, ("s1", "s2")),), refusals=2))


def test_a_site_may_start_again_at_any_moment() -> None:
    proved(Plan(sends=(TO_BOB,), routes=((ANN, ("s3",)), (BOB, ("s1",))), restarts=1))
    proved(Plan(sends=(TO_BOB,), routes=BACK, restarts=1))


def test_the_eager_policy_changes_only_the_ways() -> None:
    proved(Plan(sends=(TO_BOB, TO_BOB), routes=((BOB, ("s1",)),), eager=True))
    proved(Plan(sends=(TO_BOB,), routes=((BOB, ("s1", "s2")),), eager=True))


@pytest.mark.parametrize("algorithm", ["central", "qsc"])
def test_the_other_algorithms_keep_the_same_promises(algorithm: str) -> None:
    proved(Plan(sends=(TO_BOB, TO_BOB), routes=((BOB, ("s1",)),), algorithm=algorithm))
    proved(Plan(sends=(TO_BOB,), routes=BACK, algorithm=algorithm))


# -- that it would be noticed ------------------------------------------------------------------


def says(server: DomainServer, post: Post, kind: Kind) -> bool:
    record = server.record(post.to)
    return record is not None and record.kind is kind


class Drops(DomainServer):
    """Forgets posts for a moving agent."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        if isinstance(frame, SeekAgent) and says(self, frame.post, MOVING):
            return []
        return super().hear(src, frame, now=now)


class PutsOff(DomainServer):
    """Gives posts for an agent that is in its domain back, for ever."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        if isinstance(frame, SeekAgent) and says(self, frame.post, HERE):
            return [TransmitFrame(frame.post.origin, QueueFull(frame.post))]
        return super().hear(src, frame, now=now)


class Repeats(DomainServer):
    """Sends posts to a site twice."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        out = super().hear(src, frame, now=now)
        posts = [
            each for each in out if isinstance(each, TransmitFrame) and type(each.frame) is Post
        ]
        return out + posts


class Swallows(Daemon):
    """Does not send on what it got by a wrong guess."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        if isinstance(frame, Post) and self.phase(frame.to) is None:
            return []
        return super().hear(src, frame, now=now)


class Hurries(Daemon):
    """Delivers what comes early at once."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        out = super().hear(src, frame, now=now)
        changes = [effect.change for effect in out if isinstance(effect, PersistChange)]
        early = [change.post for change in changes if isinstance(change, PostKept)]
        return out + [DeliverPost(post.to, post) for post in early]


class Forgets(Daemon):
    """Does not write down what was delivered."""

    def hear(self, src: str, frame: Frame, *, now: int) -> list[Effect]:
        out = super().hear(src, frame, now=now)
        return [
            each
            for each in out
            if not (isinstance(each, PersistChange) and type(each.change) is LastGot)
        ]


@pytest.mark.parametrize(
    ("bug", "kind", "words"),
    [
        (Drops, "stuck", f"{BOB} has 0 of 1 posts of {ANN}"),
        (PutsOff, "trapped", "steps never run out"),
        (Repeats, "wrong", "repeat dropped"),
        (Swallows, "stuck", f"{BOB} has 0 of 1 posts of {ANN}"),
        (Hurries, "wrong", f"{BOB} gets 2 too early"),
        (Forgets, "wrong", "would start again as another"),
    ],
)
def test_a_bug_is_found_with_its_shortest_story(bug: type[Any], kind: str, words: str) -> None:
    part = "servers" if issubclass(bug, DomainServer) else "daemons"
    buggy = msgspec.structs.replace(FQSC, **{part: bug})
    sends = (TO_BOB, TO_BOB) if bug is Hurries else (TO_BOB,)
    plan = Plan(sends=sends, routes=((BOB, ("s1", "s2")),))
    found = Routed(plan, buggy).explore(seconds_max=600)
    assert not found.unfinished
    first = next(finding for finding in getattr(found, kind) if words in finding.what)
    assert len(first.story.labels) < found.depth
