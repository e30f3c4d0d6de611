"""`002_…` section 5: how its two games use the model, in small. The games themselves are apps."""

from typing import Any

from nomospace.calls.answers import Found
from nomospace.calls.requests import ONCE, Seek
from nomospace.calls.ways import Way
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import ANY, Template
from tests.paper.hosts import Hosts

ANN, BOB, CAT = "ann@a", "bob@b", "cat@c"


class Player:
    """A player of 5.1: a tray kept by one weak reaction, pieces taken from who last had them."""

    def __init__(self, net: Hosts, id: str) -> None:
        self.net = net
        self.id = net.agent(id, "puzzle")
        self.tray: dict[Any, tuple[Any, str]] = {}
        net.react(id, int, str, space="puzzle", then=self.show)

    def show(self, found: Found) -> None:
        number, image = found.fields
        self.tray[number] = (image, found.source)

    def select(self, number: int) -> bool:
        """Step 4: a probe at the player last known to have the piece; then it is one's own."""
        piece = Template.of((number, str))
        found = self.net.ask(
            self.id, Seek("puzzle", Way.TAKE_NOWAIT, piece, at=self.tray[number][1])
        )
        if found is not None:
            self.net.out(self.id, *found.fields, space="puzzle")
            self.net.run(0.5)
        return found is not None

    def assemble(self, one: int, other: int) -> bool:
        """Step 5: both pieces, or none."""
        pieces = [
            self.net.seek(self.id, "take_nowait", number, str, at=self.id, space="puzzle")
            for number in (one, other)
        ]
        if None in pieces:
            for piece in pieces:
                if piece is not None:
                    self.net.out(self.id, *piece, space="puzzle")
            return False
        self.net.out(self.id, one, pieces[0][1] + pieces[1][1], space="puzzle")
        self.net.run(0.5)
        return True


def test_5_1_pieces_are_selected_assembled_and_reconciled() -> None:
    """5.1: apart, each works with its own pieces; back together, the trays agree again."""
    net = Hosts("ab")
    ann, bob = Player(net, ANN), Player(net, BOB)
    net.settle()
    for number, image in enumerate("wxyz"):
        net.out(ANN, number, image, space="puzzle")
    net.run(0.5)
    assert ann.tray == bob.tray == {n: (image, ANN) for n, image in enumerate("wxyz")}
    assert bob.select(2)
    assert bob.select(3)
    assert ann.tray == bob.tray
    assert ann.tray[2] == ("y", BOB)
    net.cut("ab")
    net.settle()
    assert not ann.select(3)  # beep: its owner is out of reach
    assert not ann.assemble(0, 2)
    assert ann.assemble(0, 1)
    assert bob.assemble(2, 3)
    assert bob.tray[0] == ("w", ANN)  # the last that was known
    net.join("ab")
    net.settle()
    assert (ann.tray[0], ann.tray[2]) == (bob.tray[0], bob.tray[2]) == (("wx", ANN), ("yz", BOB))
    assert bob.select(0)
    assert bob.assemble(0, 2)
    assert net.seek(ANN, "read_all", int, str, at=BOB, space="puzzle") == [(0, "wxyz")]


def test_5_2_ghosts_positions_and_the_flag() -> None:
    """5.2: departures make ghosts, unchanged positions are not told again, a flag is told once."""
    net = Hosts("abc")
    for agent in (ANN, BOB, CAT):
        net.agent(agent, "game", "red" if agent != CAT else "blue")
        net.out(agent, "position", agent, 0, space="game")
    positions = net.react(ANN, "position", ANY, int, space="game")
    status = net.react(ANN, "host", ANY, ANY, space=SYSTEM)
    flag = net.react(ANN, "flag", ANY, space="red", mode=ONCE)
    net.settle()
    assert sorted(str(fields[1]) for fields in net.firings(positions)) == [ANN, BOB, CAT]
    net.cut("ac bc ab")
    net.settle()
    net.seek(BOB, "take_nowait", "position", BOB, int, space="game")
    net.out(BOB, "position", BOB, 7, space="game")
    net.out(BOB, "flag", BOB, space="red")
    net.out(CAT, "flag", CAT, space="blue")
    net.join("ab bc")
    net.settle()
    assert net.firings(positions)[3:] == [("position", BOB, 7)]
    assert [one[1:] for one in net.firings(status) if one[1] != "a"] == [
        ("b", "connected"),
        ("c", "connected"),
        ("b", "departed"),
        ("c", "departed"),
        ("b", "connected"),
        ("c", "connected"),
    ]
    assert net.firings(flag) == [("flag", BOB)]
    net.out(BOB, "icon", "bobs face", space="red")
    assert net.seek(ANN, "read_nowait", "icon", str, at=BOB, space="red") == ("icon", "bobs face")
