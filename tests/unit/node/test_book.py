"""Addresses, whom to dial and when, and notes that never flood."""

from __future__ import annotations

from random import Random

import pytest

from nomospace.node.addresses import Address, BadHostAddress, NotLoopback
from nomospace.node.book import (
    ADDRESSES_MAX,
    ENTRIES_MAX,
    HOSTS_MAX,
    PAUSE_MAX_S,
    PAUSE_MIN_S,
    TRIES_MAX,
    AddressBook,
)
from nomospace.node.notes import Notes
from tests.sites import Notebook


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:7411", True),
        ("127.9.9.9:1", True),
        ("[::1]:7411", True),
        ("localhost:80", True),
        ("10.0.0.3:7411", False),
        ("0.0.0.0:7411", False),
        ("[::]:7411", False),
        ("ward.example:65535", False),
    ],
)
def test_addresses(text: str, loopback: bool) -> None:
    address = Address.parse(text)
    assert str(address) == text
    assert address.loopback is loopback
    assert address.anywhere is (address.host in ("0.0.0.0", "::"))
    if not loopback:
        with pytest.raises(NotLoopback, match="anybody could speak there"):
            address.check_loopback()


@pytest.mark.parametrize(
    "text",
    ["", "ward", ":7411", "ward:", "ward:x", "ward:65536", "ward:-1", "::1:7411", "a b:1", "w:¹"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadHostAddress, match="write it as in"):
        Address.parse(text)
    with pytest.raises(BadHostAddress):
        Address.parse("x" * 300 + ":1")


def test_a_seed_is_dialled_for_ever_with_growing_pauses() -> None:
    book = AddressBook(Random(1))
    book.add_seed("a:1", now=0.0)
    now, pauses = 0.0, []
    for _ in range(TRIES_MAX * 2):
        assert book.take_due(now) == ["a:1"]
        assert book.take_due(now) == []  # it is being dialled
        assert book.next_due() is None
        book.failed("a:1", now=now)
        due = book.next_due()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert PAUSE_MIN_S / 2 <= pauses[0] <= PAUSE_MIN_S
    assert all(PAUSE_MAX_S / 2 <= pause <= PAUSE_MAX_S for pause in pauses[10:])
    assert len(set(pauses[10:])) > 10  # hosts that lost each other together do not stay in step


def test_a_link_that_was_made_and_lost_is_tried_soon_again() -> None:
    book = AddressBook(Random(1))
    book.add_seed("a:1", now=0.0)
    for _ in range(10):
        book.take_due(1e6)
        book.failed("a:1", now=0.0)
    book.take_due(1e6)
    book.reached("a:1", "ann")
    assert book.expected("a:1") == "ann"
    assert book.next_due() is None
    book.lost("ann", now=100.0)
    due = book.next_due()
    assert due is not None
    assert due - 100.0 <= PAUSE_MIN_S


def test_a_hint_is_forgotten_when_nobody_answers() -> None:
    book = AddressBook(Random(1))
    book.hint("a:1", now=0.0)
    for _ in range(TRIES_MAX):
        assert book.take_due(1e9) == ["a:1"]
        book.failed("a:1", now=0.0)
    assert book.next_due() is None
    book.failed("a:1", now=0.0)  # told late: harmless
    book.reached("a:1", "ann")
    assert book.expected("a:1") == ""


def test_what_is_learnt_of_hosts() -> None:
    book = AddressBook(Random(1))
    assert not book.want("ann", now=0.0)
    assert book.learn("ann", 2, ("a:2",), sure=False)
    assert not book.learn("ann", 1, ("a:1",), sure=True)  # an earlier life
    assert not book.learn("ann", 2, ("a:9",), sure=False)  # hearsay of the same life
    assert book.learn("ann", 2, ("a:3",), sure=True)  # its own word
    assert book.learn("ann", 3, tuple(f"a:{n}" for n in range(9)), sure=False)
    assert book.known() == [("ann", 3, tuple(f"a:{n}" for n in range(ADDRESSES_MAX)))]
    assert book.want("ann", now=5.0)
    assert book.take_due(5.0, most=3) == ["a:0", "a:1", "a:2"]
    book.forget("ann")
    assert not book.want("ann", now=5.0)
    assert book.learn("bob", 1, (), sure=True)
    assert not book.want("bob", now=5.0)  # it has no address


def test_who_dialled_us_is_dialled_when_it_is_lost() -> None:
    book = AddressBook(Random(1))
    book.learn("ann", 1, ("a:1",), sure=True)
    book.lost("ann", now=0.0)
    assert book.take_due(1.0) == ["a:1"]


def test_the_book_is_bounded() -> None:
    book = AddressBook(Random(1))
    for n in range(HOSTS_MAX + 10):
        book.learn(f"h{n}", 1, (f"h:{n}",), sure=True)
    assert len(book.known()) == HOSTS_MAX
    for n in range(ENTRIES_MAX + 10):
        book.hint(f"x:{n}", now=0.0)
    assert len(book.take_due(0.0, most=10**6)) == ENTRIES_MAX
    assert not book.want("h0", now=0.0)
    book.lost("h0", now=0.0)
    assert book.next_due() is None
    book.add_seed("seed:1", now=0.0)  # the operator's word always counts
    assert book.take_due(0.0) == ["seed:1"]


def test_notes_are_counted_when_there_are_too_many() -> None:
    book = Notebook()
    told = book.notes
    now = [0.0]
    notes = Notes(book, lambda: now[0])
    for n in range(10_000):
        notes("refused", n=n)
    notes("other")
    assert len(told) == 11
    assert told[10] == ("other", {})  # a flood of one kind hides no other
    now[0] = 1.0
    notes("refused", n=-1)
    assert told[11:] == [
        ("notes-withheld", {"of": "refused", "count": 9_990}),
        ("refused", {"n": -1}),
    ]
    assert notes.counts == {"refused": 10_001, "other": 1}
    Notes(None, lambda: 0.0)("refused")  # nobody wants to know: harmless
