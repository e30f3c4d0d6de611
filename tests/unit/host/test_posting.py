"""The post office of a host: parcels that are none, and changes that have become many."""

import pytest

from nomospace.host import Arrive, Durable, Heard, Host, Note, Persist, Transmit
from nomospace.host import posting as post_office
from nomospace.host.changes import ParcelPlaced
from nomospace.protocols.courier import Parcel, Receipt


@pytest.mark.parametrize("what", [None, "hello", {"no": "frame"}, Parcel(1, None)])
def test_a_parcel_of_no_known_kind_is_noted_and_taken_off_its_sender(what: object) -> None:
    """Else it would come again for ever, and hold up those after it."""
    host = Host("a", life=1, now=0)
    effects = host.handle(Heard("b", Parcel(1, what)), now=0)
    assert effects == [
        Persist((ParcelPlaced("b", 1),)),
        Note("bad-parcel", {"peer": "b", "number": 1, "kind": type(what).__name__}),
        Transmit("b", Receipt(1)),
    ]


def test_changes_of_routing_are_folded_however_many_agents_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The disk keeps about as much as there is to know, and a host starts again from it."""
    monkeypatch.setattr(post_office, "FOLD_FROM", 16)
    disk, most = Durable(), 0
    host = Host("a", life=1, now=0)
    for number in range(200):
        for effect in host.handle(Arrive(f"x{number}@a"), now=0):
            for change in effect.changes if isinstance(effect, Persist) else ():
                disk.apply(change)
        alive = len(host.posting.daemon.changes())
        assert alive >= number
        most = max(most, len(disk.routing[""]) - 2 * alive)
    assert most <= 16
    again = Host("a", life=2, now=0, durable=disk)
    assert again.posting.daemon.state() == host.posting.daemon.state()
