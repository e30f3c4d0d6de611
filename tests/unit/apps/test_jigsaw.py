"""The jigsaw: each property can fail, its tray reconciles in any order, its pieces fit."""

from collections.abc import Callable
from copy import copy
from itertools import permutations
from typing import Any

import msgspec
import pytest

from nomospace.terms.values import parts_of
from nomospace_lab.apps.jigsaw import properties
from nomospace_lab.apps.jigsaw.player import Player
from nomospace_lab.apps.jigsaw.properties import LOOKED
from nomospace_lab.apps.jigsaw.puzzle import Piece, Puzzle, Tray, TrayPiece, merged
from nomospace_lab.apps.jigsaw.world import Table, build
from nomospace_lab.sim import Happening, History
from nomospace_lab.sim.observed import ANSWERED, ASKED, VIEW
from nomospace_lab.sim.requests import Found, Out

Spoil = Callable[[list[Happening]], list[Happening]]


def game(seed: int) -> Table:
    world = build(seed)
    assert isinstance(world, Table)
    world.run()
    return world


@pytest.fixture(scope="module")
def played() -> Table:
    return game(1)


def what(h: Happening, **changes: Any) -> Happening:
    """A happening with something about its object changed."""
    return msgspec.structs.replace(h, what=msgspec.structs.replace(h.what, **changes))


def is_take(h: Happening) -> bool:
    found = h.kind == ANSWERED and h.what.value
    return isinstance(found, Found) and len(found.fields) == 3


def is_assembly(h: Happening) -> bool:
    return (
        h.kind == ASKED
        and isinstance(h.what.request, Out)
        and len(parts_of(h.what.request.fields[1])) > 1
        and parts_of(h.what.request.fields[1])[0] != parts_of(h.what.request.fields[1])[-1]
    )


def taken_twice(hs: list[Happening]) -> list[Happening]:
    first = next(h for h in hs if is_take(h))
    return [again for h in hs for again in ((h, h) if h is first else (h,))]


def laid_twice(hs: list[Happening]) -> list[Happening]:
    first = next(h for h in hs if is_assembly(h))
    return [again for h in hs for again in ((h, h) if h is first else (h,))]


def never_laid(hs: list[Happening]) -> list[Happening]:
    first = next(h for h in hs if is_assembly(h))
    return [h for h in hs if h is not first]


def a_cell_is_dropped(hs: list[Happening]) -> list[Happening]:
    last = [h for h in hs if is_assembly(h)][-1]
    number, cells, turn = last.what.request.fields
    fields = (number, cells[1:], turn)
    return [what(h, request=Out("jigsaw", fields)) if h is last else h for h in hs]


def of_others(hs: list[Happening]) -> list[Happening]:
    return [
        what(h, value=msgspec.structs.replace(h.what.value, source="zoe@z")) if is_take(h) else h
        for h in hs
    ]


def all_alone(hs: list[Happening]) -> list[Happening]:
    return [what(h, members=(h.who,)) if h.kind == VIEW else h for h in hs]


def without_views(hs: list[Happening]) -> list[Happening]:
    return [h for h in hs if h.kind != VIEW]


def a_tray_is_old(hs: list[Happening]) -> list[Happening]:
    looks = [h for h in hs if h.kind == LOOKED]
    last = looks[-1]
    old = last.what._replace(tray=looks[0].what.tray)
    return [msgspec.structs.replace(h, what=old) if h is last else h for h in hs]


def not_counted(hs: list[Happening]) -> list[Happening]:
    counts = {h.what.op for h in hs if h.kind == ASKED and h.what.round}
    return [
        what(h, value=()) if h.kind == ANSWERED and h.what.op in counts and h.what.value else h
        for h in hs
    ]


@pytest.mark.parametrize(
    ("check", "spoil"),
    [
        (properties.in_one_place, taken_twice),
        (properties.in_one_place, laid_twice),
        (properties.in_one_place, never_laid),
        (properties.only_own_are_assembled, a_cell_is_dropped),
        (properties.only_own_are_assembled, of_others),
        (properties.selected_in_contact, all_alone),
        (properties.trays_agree, a_tray_is_old),
        (properties.assembled_once, not_counted),
        (properties.players_came_and_went, without_views),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_spoilt_history_is_caught(
    played: Table, check: Callable[[Any], Any], spoil: Spoil
) -> None:
    assert check(played).answer == "yes"
    spoilt = copy(played)
    spoilt.history = History(spoil(list(played.history)))
    assert check(spoilt).answer == "no"


def test_a_player_who_does_not_put_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    async def assemble(self: Player, one: TrayPiece, other: TrayPiece) -> bool:
        first, second = await self._pick_up(one), await self._pick_up(other)
        if first is None or second is None:
            return False
        await self._lay_down(merged(first, second))
        return True

    monkeypatch.setattr(Player, "assemble", assemble)
    monkeypatch.setattr("nomospace_lab.apps.jigsaw.world.LIMIT_S", 80)
    world = game(6)
    assert properties.in_one_place(world).answer == "yes"  # it is in a hand for ever
    assert properties.assembled_once(world).answer == "no"


def test_trays_end_alike_whatever_the_order_of_the_news() -> None:
    puzzle = Puzzle(3, 1)
    left, middle, right = puzzle.pieces()
    pair = merged(left._replace(turn=1), middle)
    news = [(left, "a@x"), (left._replace(turn=1), "b@y"), (middle, "a@x"), (pair, "b@y")]
    news += [(right, "a@x"), (merged(right, pair), "c@z")]
    for order in permutations(news):
        tray = Tray(puzzle)
        for piece, holder in order:
            tray.update(piece, holder)
        assert tray.parts() == [TrayPiece(Piece(2, (0, 1, 2), 3), "c@z")]
        assert tray.complete


@pytest.mark.parametrize(
    ("one", "other", "fit"),
    [((0,), (1,), True), ((0,), (3,), True), ((2,), (3,), False), ((0, 1), (4, 7), True)],
)
def test_pieces_fit_when_cells_are_neighbours(
    one: tuple[int, ...], other: tuple[int, ...], fit: bool
) -> None:
    assert Puzzle(3, 3).fit(Piece(0, one), Piece(1, other)) is fit
    assert Puzzle(3, 3).fit(Piece(1, other), Piece(0, one)) is fit


@pytest.mark.parametrize(
    "piece",
    [Piece(0, ()), Piece(0, (1,)), Piece(9, (9,)), Piece(0, (0, "x"))],  # type: ignore[arg-type]
)
def test_what_is_no_piece_does_not_come_into_the_tray(piece: Piece) -> None:
    tray = Tray(Puzzle(3, 3))
    assert not tray.update(piece, "eve@e")
    assert tray.parts() == []
