"""RedRover: each property can fail, players that break a rule are caught, bodies walk and see."""

from collections.abc import Callable
from copy import copy
from typing import Any

import msgspec
import pytest

from nomospace_lab.apps.redrover import properties, world
from nomospace_lab.apps.redrover.display import Display
from nomospace_lab.apps.redrover.ground import Body, Ground
from nomospace_lab.apps.redrover.player import FLAG
from nomospace_lab.apps.redrover.properties import SHOWN
from nomospace_lab.apps.redrover.world import Rovers, build
from nomospace_lab.sim import Happening, History
from nomospace_lab.sim.observed import FIRED, LINKED, UNLINKED, VIEW

Spoil = Callable[[list[Happening]], list[Happening]]


def game(seed: int) -> Rovers:
    played = build(seed)
    assert isinstance(played, Rovers)
    played.run()
    return played


@pytest.fixture(scope="module")
def played() -> Rovers:
    """A game in which both teams found the flag."""
    return game(1)


def first(hs: list[Happening], kind: str, good: Callable[[Any], bool]) -> Happening:
    return next(h for h in hs if h.kind == kind and good(h.what))


def without(kind: str, good: Callable[[Any], bool]) -> Spoil:
    def spoil(hs: list[Happening]) -> list[Happening]:
        gone = first(hs, kind, good)
        return [h for h in hs if h is not gone]

    return spoil


def twice(kind: str, good: Callable[[Any], bool]) -> Spoil:
    def spoil(hs: list[Happening]) -> list[Happening]:
        chosen = first(hs, kind, good)
        again = msgspec.structs.replace(chosen)
        return [one for h in hs for one in ((h, again) if h is chosen else (h,))]

    return spoil


def shows(what: str) -> Callable[[Any], bool]:
    return lambda shown: shown[0] == what


def is_about(kind: str) -> Callable[[Any], bool]:
    return lambda fired: fired.found.fields[0] == kind


def a_ghost_stays(hs: list[Happening]) -> list[Happening]:
    """Somebody is back, and still shown as a ghost."""
    ghost = first(hs, SHOWN, shows("ghost"))
    back = next(
        h for h in hs if (h.who, h.what) == (ghost.who, ("back", ghost.what[1])) and h.at > ghost.at
    )
    return [h for h in hs if h is not back]


def told_to_rivals(hs: list[Happening]) -> list[Happening]:
    flag = first(hs, FIRED, is_about(FLAG))
    rival = "dana@dana-pda" if flag.who.startswith(("ann", "bob", "cem")) else "ann@ann-pda"
    return [msgspec.structs.replace(h, who=rival) if h is flag else h for h in hs]


def positions_stand_still(hs: list[Happening]) -> list[Happening]:
    """Ann's display shows nothing new of the others for the last half of the game."""
    half = hs[0].at + (hs[-1].at - hs[0].at) // 2
    return [h for h in hs if not (h.kind == SHOWN and h.who.startswith("ann") and h.at > half)]


def links_break_at_once(hs: list[Happening]) -> list[Happening]:
    """The hosts of a group of two or more have lost all their links when it is formed."""
    formed = first(hs, VIEW, lambda viewed: len(viewed.members) > 1)
    ends = hs.index(formed)
    links = [h.who for h in hs[:ends] if h.kind == LINKED]
    broken = [Happening(formed.at, UNLINKED, who) for who in links]
    return [*hs[: ends + 1], *broken]


def without_views(hs: list[Happening]) -> list[Happening]:
    return [h for h in hs if h.kind != VIEW]


@pytest.mark.parametrize(
    ("check", "spoil"),
    [
        (properties.team_matters_stay_in_the_team, told_to_rivals),
        (properties.ghosts_are_the_departed, without(SHOWN, shows("ghost"))),
        (properties.ghosts_are_the_departed, a_ghost_stays),
        (properties.positions_are_seen, positions_stand_still),
        (properties.positions_are_news_once, twice(FIRED, is_about("at"))),
        (properties.flags_are_announced_once, twice(SHOWN, shows("flag"))),
        (properties.flags_are_announced_once, without(SHOWN, shows("flag"))),
        (properties.parted_in_time, links_break_at_once),
        (properties.players_met_and_parted, without_views),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_spoilt_history_is_caught(
    played: Rovers, check: Callable[[Any], Any], spoil: Spoil
) -> None:
    assert check(played).answer == "yes"
    spoilt = copy(played)
    spoilt.history = History(spoil(list(played.history)))
    assert check(spoilt).answer == "no"


def test_hosts_that_engage_by_reach_alone_lose_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "POLICY", None)  # everyone who is heard
    assert properties.parted_in_time(game(1)).answer == "no"


def test_one_space_for_both_teams_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nomospace_lab.apps.redrover.player.team_space", lambda team: "redrover-all"
    )
    assert properties.team_matters_stay_in_the_team(game(1)).answer == "no"


def test_a_display_that_believes_the_last_news_goes_back() -> None:
    display = Display()
    display.show_position("ann@x", (2.0, 2.0), 2)
    display.show_position("ann@x", (1.0, 1.0), 1)
    assert display.figures["ann@x"].at == (2.0, 2.0)


def test_faces_are_got_from_all_teammates_and_from_no_rival(played: Rovers) -> None:
    for player in played.players.values():
        mates = {id for id, team in played.teams.items() if team == player.team}
        assert set(player.display.faces) == mates - {player.id}


def test_a_team_gathers_around_its_finder(played: Rovers) -> None:
    finders = [player for player in played.players.values() if player.gathered]
    assert finders
    for player in finders:
        assert player.display.flag is not None
        assert player.display.flag[0] == player.id


def test_a_body_walks_straight_and_stops() -> None:
    body = Body(Ground(100, 100), (0.0, 0.0))
    body.go((3.0, 4.0))
    body.walk(1)
    assert body.at == pytest.approx((1.2, 1.6))
    assert not body.arrived
    body.walk(10)
    assert body.at == (3.0, 4.0)
    assert body.arrived
