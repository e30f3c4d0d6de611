"""Obligations come due exactly once, never early, and late only when their host was down."""

from __future__ import annotations

from bisect import bisect_right

from nomospace.terms import Term, show
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.history import CRASHED, RESTARTED, RULED, Happening
from nomospace_lab.sim.world import World


def fire_once(world: World) -> Verdict:
    """Each obligation fires once, at its time, or is repealed; after a crash at the restart."""
    name = "obligations fire exactly once and on time"
    imposed: dict[tuple[str, int], tuple[Happening, Term, int]] = {}
    ended: dict[tuple[str, int], Happening] = {}
    lives = _lives(world)
    cases = 0
    for h in world.history.of(RULED):
        ruling = h.what
        for place_in_ruling, (kind, place, term, due) in enumerate(ruling.delta):
            key = (h.who, place)
            if kind == "due":
                imposed[key] = (h, term, due)
                continue
            if kind != "undue":
                continue
            cases += 1
            begun = imposed.get(key)
            if begun is None:
                return no(name, f"{show(term)} ended at {h.who} without having been imposed", h)
            if key in ended:
                return no(name, f"{show(term)} ended twice at {h.who}", begun[0], ended[key], h)
            ended[key] = h
            if ruling.due_at is None or place_in_ruling > 0:
                continue  # repealed
            if ruling.at < due:
                return no(name, f"{show(term)} fired {due - ruling.at} µs early", begun[0], h)
            latest = max(due, begun[0].what.at)  # one may be imposed for a moment that is past
            if ruling.at > latest and not _was_down(lives, world, h, latest):
                says = f"{show(term)} fired {ruling.at - latest} µs late at a host that was up"
                return no(name, says, begun[0], h)
    if world.quiet:
        for key, (h, term, _) in imposed.items():
            if key not in ended and not _has_left(world, h.who):
                return no(name, f"{show(term)} never fired and was never repealed", h)
    return yes(name, cases)


Lives = dict[str, tuple[list[int], list[int]]]


def _lives(world: World) -> Lives:
    """When each host crashed and when it came back."""
    found: Lives = {}
    for h in world.history.of(CRASHED, RESTARTED):
        crashes, comebacks = found.setdefault(h.who, ([], []))
        (crashes if h.kind == CRASHED else comebacks).append(h.at)
    return found


def _was_down(lives: Lives, world: World, h: Happening, due: int) -> bool:
    """Whether the host was down when the obligation was due, and this is when it came back.

    A crash at the very moment may have lost the firing: it never reached the disk.
    """
    host = world.where[h.who]
    crashes, comebacks = lives.get(host.name, ([], []))
    last = bisect_right(comebacks, h.at) - 1
    return last >= 0 and comebacks[last] == h.at and crashes[last] <= due - host.skew_us


def _has_left(world: World, home: str) -> bool:
    host = world.where.get(home)
    return host is not None and home in host.members and host.members[home].ended
