"""A client before it is known: which versions of the conversation it may speak."""

import pytest

from nomospace.node.entrance import Entrance, OtherVersion
from nomospace.node.principals import OpenDoor, Principal
from nomospace.wire.errors import decode_error, encode_error
from nomospace.wire.framing import Framer, Versions, join
from nomospace.wire.talk import VERSION, ClientHello, pack_frame


def hear(oldest: int, newest: int = 0) -> Principal:
    """What becomes of a client that speaks these versions."""
    entrance = Entrance(OpenDoor("word"), "ward", None)
    hello = ClientHello(oldest, "s" * 16, "ann", token="word", newest=newest)
    heard = entrance.hear(Framer(1 << 16), join([pack_frame(hello)]))
    assert isinstance(heard, Principal)
    return heard


@pytest.mark.parametrize("newest", [0, VERSION, VERSION + 7])
def test_a_client_that_speaks_ours_among_others_comes_in(newest: int) -> None:
    """One of version 0.1 says no newest."""
    assert hear(VERSION, newest).anyone


def test_a_client_that_speaks_later_versions_alone_is_told_both() -> None:
    with pytest.raises(OtherVersion) as raised:
        hear(VERSION + 1, VERSION + 2)
    words = f"the client speaks version {VERSION + 1} to {VERSION + 2}, this host {VERSION}; "
    assert str(raised.value) == words + "upgrade the host"
    assert str(decode_error(encode_error(raised.value))) == str(raised.value)


def test_a_newest_that_is_older_than_the_oldest_is_no_range() -> None:
    assert Versions.said(3, 1) == Versions(3, 3)
