"""`001_…` 2 to 4 and `000_…` 5 on real processes: mediators, and where controllers are.

The stories are those of `tests/paper`, word for word. Here every host and every mediator is a
process of its own, and every agent a client over TLS. What each controller ruled is read from the
journals that the hosts leave behind.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nomospace.store.journal import EventRecord
from nomospace.store.opening import open_store
from nomospace.store.segments import read_journal
from nomospace.terms import show
from tests.paper import stories
from tests.paper.hospital import Ward, publish
from tests.real.hospital import HUB, Mediator, mediators, ward_at
from tests.real.hosts import play
from tests.servers import NatsServer, nats_server

PLACEMENTS: dict[str, Callable[[str], str]] = {
    "at the agent": lambda name: f"at-{name}" if name in ("ann", "bob", "fay", "lea") else HUB,
    "at a trusted third host": lambda name: HUB if name == "med" else "trusted",
    "beside the space": lambda _name: HUB,
}
Story = Callable[[Ward], Coroutine[Any, Any, None]]
Rulings = dict[str, list[tuple[str, str | None, tuple[str, ...]]]]


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer]:
    with nats_server() as server:
        yield server


@pytest.fixture(params=["space", "nats"])
def server(request: pytest.FixtureRequest) -> str:
    """What mediators work on: a space, or a NATS server with this address."""
    return "" if request.param == "space" else str(request.getfixturevalue("nats").url)


# -- mediators ---------------------------------------------------------------------------------


def test_a_mediator_before_a_nats_server(tmp_path: Path, nats: NatsServer) -> None:
    """Points 2 to 4 end to end; for one on a space the stories of placement say as much."""

    async def program() -> None:
        async with (
            ward_at(tmp_path, ["hall"], lambda name: HUB if name == "med" else "hall") as ward,
            mediators(ward, tmp_path, "med", nats=nats.url),
        ):
            await stories.points_2_to_4(ward)

    play(program())


def test_several_mediator_processes_at_once(tmp_path: Path, server: str) -> None:
    """Subscribe at one, publish at the other; one is killed, and comes back as if never away."""
    at = {"med1": "one", "med2": "two"}

    async def program() -> None:
        async with (
            ward_at(tmp_path, at.values(), lambda name: at.get(name, HUB)) as ward,
            mediators(ward, tmp_path, "med1", "med2", nats=server) as running,
        ):
            await stories.subscribe_at_one_and_publish_at_the_other(ward)
            running["med1"].end(signal.SIGKILL)
            await ward.send("fay", publish("fire", "away"), to="med1")  # waits for its mediator
            again = running["med1"] = Mediator(ward, tmp_path, "med1", server)
            await again.ready()
            assert (await ward.alarm("lea"))[2] == "away"
            await ward.send("fay", publish("fire", "back"), to="med2")
            assert (await ward.alarm("lea"))[2] == "back"

    play(program())


# -- placement ---------------------------------------------------------------------------------


def _without_places(text: str) -> str:
    """The words of a ruling, without the names of hosts and the time of day."""
    text = re.sub(r"'?(\w[\w-]*)@[\w-]+'?", r"\1", text)
    return re.sub(r"\btime\([\d.]+\)", "time(T)", text)


def _rulings(story: Story, folder: Path, place: Callable[[str], str], *names: str) -> Rulings:
    """What each controller ruled, by agent, when a story was played with hosts of a placement."""
    mediated = "med" in names

    async def program() -> None:
        async with ward_at(folder, map(place, names), place) as ward:
            if not mediated:
                await story(ward)
                return
            async with mediators(ward, folder, "med"):
                await story(ward)

    folder.mkdir()
    play(program())
    ruled: Rulings = {}
    for file in sorted(folder.glob("*.db")):
        with closing(open_store(str(file))) as store:
            store.begin()
            for _, record in read_journal(None, store):
                if isinstance(record, EventRecord):
                    ruling = record.ruling
                    words = tuple([_without_places(show(each)) for each in ruling.operations])
                    event = _without_places(show(ruling.event.term))
                    ruled.setdefault(_without_places(ruling.home), []).append(
                        (event, ruling.rule, words)
                    )
    return ruled


@pytest.mark.parametrize(
    ("story", "names"),
    [
        pytest.param(stories.alarms, ("med", "max", "fay", "lea"), id="alarms"),
        pytest.param(stories.letters, ("ann", "bob", "eve"), id="letters"),
    ],
)
def test_controllers_rule_alike_wherever_they_are(
    tmp_path: Path, story: Story, names: tuple[str, ...]
) -> None:
    """At the agent, at a trusted third host, beside the space: a matter of addresses only."""
    by_place = {
        where: _rulings(story, tmp_path / where.replace(" ", "-"), place, *names)
        for where, place in PLACEMENTS.items()
    }
    first = by_place["beside the space"]
    assert all(len(first[name]) >= 2 for name in names)  # an adoption, and a deed
    for where, ruled in by_place.items():
        for name in names:
            assert ruled[name] == first[name], (where, name)
