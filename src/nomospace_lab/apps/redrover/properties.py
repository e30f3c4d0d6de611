"""What must hold in every game of RedRover: judged from calls, firings, views, links and displays.

What players' displays show comes into the history as `SHOWN`, in the instant in which it changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from nomospace_lab.apps.redrover.display import BACK, FLAG as FLAG_SHOWN, GHOST, POSITION
from nomospace_lab.apps.redrover.player import AT, FLAG, ICON
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.history import Happening, tell_as
from nomospace_lab.sim.observed import ANSWERED, ASKED, FIRED, LINKED, UNLINKED, VIEW
from nomospace_lab.sim.requests import Found, Out

if TYPE_CHECKING:
    from nomospace_lab.apps.redrover.world import Rovers

SHOWN: Final = "shown"  # who: a player; what: what changed on its display, and the new value
LATE_US: Final = 6 * SECOND_US
"""How old the news of somebody in the same group may be: some lost frames and their repeats."""
MEETINGS_MIN: Final = 6
PARTINGS_MIN: Final = 3


def _tell_shown(h: Happening) -> str:
    what, value = h.what
    return f"{h.who} is shown {what}: {value}"


tell_as(SHOWN, _tell_shown)


def _host(player: str) -> str:
    return player.partition("@")[2]


def _found(h: Happening) -> tuple[Found, ...]:
    """The tuples that somebody was shown by a host, in an answer or a firing."""
    value: Any = h.what.found if h.kind == FIRED else h.what.value
    if isinstance(value, Found):
        return (value,)
    if isinstance(value, tuple):
        return tuple([one for one in value if isinstance(one, Found)])
    return ()


def team_matters_stay_in_the_team(world: Rovers) -> Verdict:
    """Nobody is ever given a flag or a face of the other team, whatever it asks for."""
    name = "nobody outside a team is shown its tuples"
    teams = world.teams
    cases = 0
    for h in world.history.of(ANSWERED, FIRED):
        for found in _found(h):
            if found.fields[0] in (ICON, FLAG):
                cases += 1
                if found.fields[1] != teams[h.who]:
                    return no(name, f"{h.who} is of team {teams[h.who]}", h)
    return yes(name, cases)


def ghosts_are_the_departed(world: Rovers) -> Verdict:
    """At the end of every instant, a display has ghosts for just the hosts gone from the group."""
    name = "a ghost is shown exactly while its host is departed"
    met: dict[str, dict[str, None]] = {}  # per host, all that were ever in its group
    group: dict[str, Happening] = {}
    shown: dict[str, dict[str, Happening]] = {}  # per player, its ghosts
    cases = 0
    happenings = world.history.of(VIEW, SHOWN)
    for _, instant in groupby(happenings, key=lambda h: h.at):
        touched: dict[str, None] = {}
        for h in instant:
            if h.kind == VIEW:
                group[h.who] = h
                met.setdefault(h.who, {}).update(dict.fromkeys(h.what.members))
                touched[h.who] = None
            elif h.what[0] in (GHOST, BACK):
                ghosts = shown.setdefault(h.who, {})
                ghosts.pop(h.what[1], None)
                if h.what[0] == GHOST:
                    ghosts[h.what[1]] = h
                touched[_host(h.who)] = None
        for player in world.players:
            host = _host(player)
            if host not in touched or host not in group:
                continue
            cases += 1
            view = group[host]
            gone = {other for other in met[host] if other not in view.what.members}
            ghosts = shown.get(player, {})
            if gone != set(ghosts):
                says = f"{', '.join(sorted(gone)) or 'nobody'} is gone for {player}"
                return no(name, says, view, *ghosts.values())
    return yes(name, cases)


Times: TypeAlias = tuple[list[int], list[int]]
"""Moments, and the step of a position at each of them."""


def _at(times: Times, at: int) -> int:
    """The latest step at a moment; 0 before the first."""
    place = bisect_right(times[0], at)
    return times[1][place - 1] if place else 0


def positions_are_seen(world: Rovers) -> Verdict:
    """Who has been in one group for a while sees where the others are, a little late at most.

    So the latest position written before an engagement is seen after it, whether or not its player
    moved while apart; and when all have come home, everybody sees where everybody is.
    """
    name = "positions seen are the latest written"
    written: dict[str, Times] = {player: ([], []) for player in world.players}
    seen: dict[tuple[str, str], Times] = {}
    for h in world.history.of(ASKED, SHOWN):
        if h.kind == ASKED:
            request = h.what.request
            if isinstance(request, Out) and request.fields[0] == AT:
                _note(written[h.who], h.at, int(str(request.fields[4])))
        elif h.what[0] == POSITION:
            player, step = h.what[1]
            _note(seen.setdefault((h.who, player), ([], [])), h.at, step)
    cases = 0
    for one, other, since, until in _together(world):
        wrote = written[other]
        moments = [since, *[at for at in wrote[0] if since < at]]
        for moment in moments:
            due = moment + LATE_US
            if due > until:
                break
            cases += 1
            step = _at(wrote, moment)
            shows = _at(seen.get((one, other), ([], [])), due)
            if shows < step:
                story = [
                    h
                    for h in world.history.of(ASKED)
                    if isinstance(h.what.request, Out)
                    and h.what.request.fields[1::3] == (other, step)
                ]
                return no(name, f"{one} still sees {other} at step {shows}, not {step}", *story)
    return yes(name, cases)


def _note(times: Times, at: int, step: int) -> None:
    times[0].append(at)
    times[1].append(step)


def _together(world: Rovers) -> Iterator[tuple[str, str, int, int]]:
    """Each pair of players and a period in which each was in the group of the other's host."""
    began: dict[tuple[str, str], int] = {}
    group: dict[str, tuple[str, ...]] = {}
    players = {_host(player): player for player in world.players}
    for h in world.history.of(VIEW):
        group[h.who] = h.what.members
        for other, player in players.items():
            mutual = other in group[h.who] and h.who in group.get(other, ())
            for pair in ((players[h.who], player), (player, players[h.who])):
                if other == h.who:
                    continue
                if mutual:
                    began.setdefault(pair, h.at)
                elif pair in began:
                    yield (*pair, began.pop(pair), h.at)
    for pair, since in began.items():
        yield (*pair, since, world.end_us)


def positions_are_news_once(world: Rovers) -> Verdict:
    """A position is told to each player once, however often hosts part and meet again."""
    name = "a position that did not change is not told again"
    told: dict[tuple[str, str, int], Happening] = {}
    for h in world.history.of(FIRED):
        found = h.what.found
        if found.fields[0] != AT:
            continue
        first = told.setdefault((h.who, found.writer, found.count), h)
        if first is not h:
            return no(name, f"{h.who} is told twice", first, h)
    return yes(name, len(told))


def flags_are_announced_once(world: Rovers) -> Verdict:
    """Once one of a team has found the flag, each of the team is told, exactly once."""
    name = "the flag is announced once to each teammate"
    found: dict[str, Happening] = {}
    for h in world.history.of(ASKED):
        request = h.what.request
        if isinstance(request, Out) and request.fields[0] == FLAG:
            found.setdefault(world.teams[h.who], h)
    told: dict[str, list[Happening]] = {player: [] for player in world.players}
    for h in world.history.of(SHOWN):
        if h.what[0] == FLAG_SHOWN:
            told[h.who].append(h)
    cases = 0
    for player, team in world.teams.items():
        times = len(told[player])
        if times > 1 or (times == 1) != (team in found):
            proof = [found[team]] if team in found else []
            return no(name, f"{player} is told {times} times", *proof, *told[player])
        cases += times
    return yes(name, cases)


def parted_in_time(world: Rovers) -> Verdict:
    """When hosts get out of range, their groups do not count on that link any more.

    The members of every group can reach each other over links of its members, at every moment: so
    no group loses a member, or a frame, to the distance.
    """
    name = "groups part before contact is lost"
    near: dict[str, dict[str, None]] = {}
    group: dict[str, Happening] = {}
    cases = 0
    for h in world.history.of(LINKED, UNLINKED, VIEW):
        if h.kind == VIEW:
            group[h.who] = h
            concerned = [h.who]
        else:
            a, b = h.who.split()
            for one, other in ((a, b), (b, a)):
                if h.kind == LINKED:
                    near.setdefault(one, {})[other] = None
                else:
                    near[one].pop(other, None)
            concerned = [a, b] if h.kind == UNLINKED else []
        for host in concerned:
            view = group.get(host)
            if view is None:
                continue
            cases += h.kind == UNLINKED
            lost = [m for m in view.what.members if m not in _reach(host, view, near)]
            if lost:
                return no(name, f"{host} has no way to {lost[0]}, who is in its group", view, h)
    return yes(name, cases)


def _reach(host: str, view: Happening, near: dict[str, dict[str, None]]) -> dict[str, None]:
    """The members of a view that a host reaches over links between members."""
    found = {host: None}
    queue = [host]
    while queue:
        for other in near.get(queue.pop(), ()):
            if other in view.what.members and other not in found:
                found[other] = None
                queue.append(other)
    return found


def players_met_and_parted(world: Rovers) -> Verdict:
    """Groups grew and shrank often enough, or the game proves little."""
    name = "players met and parted"
    group: dict[str, int] = {}
    meetings = partings = 0
    for h in world.history.of(VIEW):
        size, before = len(h.what.members), group.get(h.who, 1)
        meetings += size > before
        partings += size < before
        group[h.who] = size
    if meetings < MEETINGS_MIN or partings < PARTINGS_MIN:
        return no(name, f"only {meetings} times somebody met others, {partings} times lost some")
    return yes(name, meetings + partings)
