"""What a port that several workers share reads off the first bytes of a connection."""

import ssl
from collections import Counter

import msgspec
import pytest
from hypothesis import given, strategies as st

from nomospace.wire.framing import CLIENT, HOST, BadFrame, join, offered, preface
from nomospace.wire.opening import (
    NAMES_MAX,
    PREFACE_BYTES_MAX,
    Opening,
    read_plain,
    read_preface,
    read_tls,
    worker_for,
)
from nomospace.wire.talk import VERSION, ClientHello, Proof, pack_frame


def _handshake(names: list[str]) -> bytes:
    """The first bytes of a client over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if names:
        context.set_alpn_protocols(names)
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(into, out).do_handshake()
    return out.read()


HELLO = join([pack_frame(ClientHello(VERSION, "s" * 20, "ann"))])


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (preface(HOST), Opening(HOST)),
        (preface(HOST, "ward.2"), Opening(HOST, "ward.2")),
        (preface(CLIENT, "ward.2"), Opening(CLIENT, "ward.2")),
        (preface(CLIENT) + HELLO, Opening(CLIENT, "", "ann")),
        (preface(CLIENT) + join([pack_frame(Proof(b"x"))]), Opening(CLIENT)),
    ],
)
def test_a_connection_says_whom_it_is_for_as_soon_as_it_has_said_so(
    said: bytes, found: Opening
) -> None:
    assert read_plain(said) == found
    for size in range(len(said)):
        assert read_plain(said[:size]) in (None, found)
        if size < len(preface(HOST)):
            assert read_plain(said[:size]) is None


def test_a_handshake_names_its_protocol_and_the_worker_it_wants() -> None:
    for names, found in (
        (offered(CLIENT, "ward.2"), Opening(CLIENT, "ward.2")),
        (offered(HOST, ""), Opening(HOST)),
        (["http/1.1"], Opening("")),
        ([], Opening("")),
    ):
        said = _handshake(names)
        assert read_tls(said) == found
        assert read_tls(said + b"more") == found
        assert all(read_tls(said[:size]) is None for size in range(1, len(said)))


DEEP_HELLO = b"\x9c" + msgspec.msgpack.encode(ClientHello(1, "k" * 16, "ann@ward"))[1:]
DEEP_HELLO += b"\x91" * 5_000 + b"\xc0"
"""One element more than a hello has, in which lists stand in lists."""


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n",
        b"\0\0\1\xff" + b"x" * 20,
        join([b""]),
        join([b"nomos"]),
        join([b"nomos-client/2"]),
        join([CLIENT.encode() + b"x" * PREFACE_BYTES_MAX]),
        preface(CLIENT) + join([b"\xc1garbage"]),
        preface(CLIENT) + b"\xff\xff\xff\xff",
        preface(CLIENT) + join([DEEP_HELLO]),
    ],
)
def test_what_is_no_opening_is_refused_and_not_waited_for(said: bytes) -> None:
    with pytest.raises(BadFrame):
        read_plain(said)


@given(st.binary(max_size=200), st.integers(0, 200))
def test_no_bytes_break_the_reader_of_handshakes(noise: bytes, at: int) -> None:
    said = bytearray(_HELLO)
    said[5 + at : 5 + at + len(noise)] = noise
    assert isinstance(read_tls(bytes(said)), Opening | None)
    assert isinstance(read_tls(b"\x16" + noise), Opening | None)


def test_of_very_many_protocols_few_are_looked_at() -> None:
    said = _handshake(["x"] * (NAMES_MAX - 1) + [CLIENT])
    assert read_tls(said) == Opening(CLIENT)
    assert read_tls(_handshake(["x"] * NAMES_MAX + [CLIENT])) == Opening("")


_HELLO = _handshake(offered(CLIENT, "ward.2"))


def test_a_preface_is_read_byte_by_byte() -> None:
    whole = preface(CLIENT, "ward.2")
    assert [read_preface(whole[:size]) for size in range(len(whole))] == [None] * len(whole)
    assert read_preface(whole + b"x") == (Opening(CLIENT, "ward.2"), len(whole))


@pytest.mark.parametrize("name", ["client-{:03}@ward", "a{}@h", "nurse{}@icu", "w-{}@ward-3"])
def test_agents_fall_to_all_workers_alike(name: str) -> None:
    """Names that are numbered: two workers have halves, more have a third over at most."""
    for count in (2, 3, 4):
        fell = Counter(worker_for(name.format(n), count) for n in range(32))
        assert sorted(fell) == list(range(1, count + 1))
        assert max(fell.values()) <= (16 if count == 2 else 4 / 3 * 32 / count)
