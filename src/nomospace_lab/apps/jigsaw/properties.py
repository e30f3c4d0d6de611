"""What must hold in every game of jigsaw: judged from the calls that players made.

A cell of the puzzle is in the box, then on the table as part of one tuple, or in one player's
hand between a take and the next write. The calls of all players tell where each cell is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from nomospace_lab.apps.jigsaw.player import SPACE
from nomospace_lab.apps.jigsaw.puzzle import Piece, TrayPiece, piece_of
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.facts import CallHistory, facts_of
from nomospace_lab.sim.history import Happening, tell_as
from nomospace_lab.sim.observed import ANSWERED, ASKED, VIEW
from nomospace_lab.sim.requests import Found, Out, OutMany, Seek

if TYPE_CHECKING:
    from nomospace_lab.apps.jigsaw.world import Table

LOOKED: Final = "looked"  # who: a player; what: Looked
PARTINGS_MIN: Final = 4
"""So many times somebody must have been left alone, or the game proves little."""


class Looked(NamedTuple):
    """What a player saw in its tray, and what it really held, at some point of the game."""

    when: str
    tray: tuple[TrayPiece, ...]
    holds: tuple[Piece, ...]


def _tell_looked(h: Happening) -> str:
    seen: Looked = h.what
    holders = sorted({part.holder for part in seen.tray})
    return (
        f"{h.who} looks ({seen.when}): {len(seen.tray)} parts, held by {', '.join(holders)}; "
        f"{len(seen.holds)} are its own"
    )


tell_as(LOOKED, _tell_looked)


class Pick(NamedTuple):
    """A piece in a player's hand, from whom, and the answer that brought it."""

    piece: Piece
    source: str
    answered: Happening


@dataclass(frozen=True)
class PieceMove:
    """A player lays a piece down: `made_of` is what it had picked up for it."""

    asked: Happening
    player: str
    piece: Piece
    made_of: tuple[Pick, ...]


@dataclass(frozen=True)
class Misplaced:
    """A cell that was in two places, or in none."""

    says: str
    proof: tuple[Happening, ...]


def moves(world: Table) -> Iterator[PieceMove | Misplaced]:
    """Everything that was laid down, in order; a `Misplaced` is the last."""
    table: dict[int, Happening] = {}
    hands: dict[int, tuple[str, Pick]] = {}
    for h in world.history.of(ASKED, ANSWERED):
        if h.kind == ASKED:
            request = h.what.request
            if not isinstance(request, Out | OutMany):
                continue
            for row in (request.fields,) if isinstance(request, Out) else request.rows:
                piece = piece_of(row)
                picks: dict[int, Pick] = {}
                for cell in piece.cells:
                    if cell in table:
                        yield Misplaced(f"piece {cell} is on the table twice", (table[cell], h))
                        return
                    table[cell] = h
                    if isinstance(request, OutMany):  # out of the box
                        continue
                    player, pick = hands.pop(cell, ("", None))
                    if pick is None or player != h.who:
                        yield Misplaced(f"{h.who} lays down {cell}, which it does not have", (h,))
                        return
                    picks[pick.piece.id] = pick
                yield PieceMove(h, h.who, piece, tuple(picks.values()))
        elif isinstance(h.what.value, Found) and len(h.what.value.fields) == 3:
            piece = piece_of(h.what.value.fields)
            pick = Pick(piece, h.what.value.source, h)
            for cell in piece.cells:
                if cell not in table:
                    held = hands.get(cell)
                    before = () if held is None else (held[1].answered,)
                    yield Misplaced(f"{h.who} picks up {cell} from an empty place", (*before, h))
                    return
                del table[cell]
                hands[cell] = (h.who, pick)


def in_one_place(world: Table) -> Verdict:
    """A piece is on the table once or in one hand, and so never in two assemblies."""
    name = "no piece is ever in two places"
    cases = 0
    for move in moves(world):
        if isinstance(move, Misplaced):
            return no(name, move.says, *move.proof)
        cases += 1
    return yes(name, cases)


def only_own_are_assembled(world: Table) -> Verdict:
    """An assembly is made of pieces that fit and that its player held, all of them as they were."""
    name = "players assemble only what they hold"
    cases = 0
    for move in moves(world):
        if isinstance(move, Misplaced) or not move.made_of:
            continue
        proof = (*[pick.answered for pick in move.made_of], move.asked)
        cells = sorted(cell for pick in move.made_of for cell in pick.piece.cells)
        if cells != list(move.piece.cells):
            return no(name, "what is laid down is not what was picked up", *proof)
        if len(move.made_of) == 1:
            continue
        cases += 1
        if any(pick.source != move.player for pick in move.made_of):
            return no(name, f"{move.player} assembles what is not its own", *proof)
        if not world.puzzle.fit(move.made_of[0].piece, move.made_of[1].piece):
            return no(name, "these do not fit", *proof)
    return yes(name, cases)


def selected_in_contact(world: Table) -> Verdict:
    """A piece is got from another player only while their hosts are in one group."""
    name = "pieces are selected only in contact"
    facts = facts_of(world)
    cases = 0
    for op in facts.seeks():
        for found in op.found if op.takes else ():
            if found.source == op.agent:
                continue
            cases += 1
            stay = facts.stay(found.source, op.began)
            host = "" if stay is None else stay[0]
            groups = list(_groups(facts.views.get(op.call.host, []), op))
            if not any(host in members for members in groups):
                return no(name, f"{found.source} was out of reach all the time", *op.proof)
    return yes(name, cases)


def _groups(views: list[Happening], op: CallHistory) -> Iterator[tuple[str, ...]]:
    """The groups that a host was in while a call was under way."""
    current: tuple[str, ...] = ()
    for h in views:
        if h.at > op.end:
            break
        if h.at > op.began and current:
            yield current
        current = h.what.members
    yield current


def trays_agree(world: Table) -> Verdict:
    """When all are together and play rests, every tray shows what all players really hold."""
    name = "trays of connected players agree with the table"
    rounds: dict[str, list[Happening]] = {}
    for h in world.history.of(LOOKED):
        rounds.setdefault(h.what.when, []).append(h)
    if set(rounds) != {"opening", "break", "end"}:
        return unknown(name, "nobody looked")
    cases = 0
    for looks in rounds.values():
        held = {piece: h.who for h in looks for piece in h.what.holds}
        truth = {cell: (piece, who) for piece, who in held.items() for cell in piece.cells}
        for h in looks:
            cases += 1
            seen = {cell: (p.piece, p.holder) for p in h.what.tray for cell in p.piece.cells}
            wrong = [cell for cell in range(world.puzzle.size) if seen.get(cell) != truth.get(cell)]
            if wrong:
                says = f"{h.who} sees {wrong[0]} as {seen.get(wrong[0])}, not {truth.get(wrong[0])}"
                return no(name, says, h)
    return yes(name, cases)


def assembled_once(world: Table) -> Verdict:
    """At the end one assembly has every piece exactly once, and there is nothing else."""
    name = "the puzzle is assembled, once, with every piece"
    facts = facts_of(world)
    counts = [op for op in facts.ops.values() if op.call.round > 0 and _looks_at_table(op)]
    if not counts:
        return unknown(name, "nobody counted the tuples")
    found = [(piece_of(one.fields), op) for op in counts for one in op.found]
    if len(found) != 1:
        proof = [h for _, op in found[:2] for h in op.proof]
        return no(name, f"{len(found)} pieces and assemblies are left", *proof)
    piece, op = found[0]
    if piece.cells != tuple(range(world.puzzle.size)):
        return no(name, "it has not every piece once", *op.proof)
    return yes(name, 1)


def _looks_at_table(op: CallHistory) -> bool:
    return isinstance(op.request, Seek) and op.request.space == SPACE


def players_came_and_went(world: Table) -> Verdict:
    """Hosts parted often enough, and somebody assembled pieces while apart from others."""
    name = "players came and went, and assembled while apart"
    everybody = len(world.hosts)
    group: dict[str, tuple[str, ...]] = {}
    partings = apart = 0
    laid = {id(m.asked) for m in moves(world) if isinstance(m, PieceMove) and len(m.made_of) > 1}
    for h in world.history.of(VIEW, ASKED):
        if h.kind == VIEW:
            partings += len(h.what.members) < len(group.get(h.who, ()))
            group[h.who] = h.what.members
        elif id(h) in laid:
            apart += len(group.get(h.what.host, ())) < everybody - 1
    if partings < PARTINGS_MIN:
        return no(name, f"only {partings} partings, at least {PARTINGS_MIN} are wanted")
    return yes(name, apart)
