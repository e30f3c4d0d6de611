"""The ledger finds every kind of broken promise, and only those."""

from tests.crash.ledger import LENT, MESSAGE, OBLIGATION, TUPLE, Ledger


class Book(Ledger):
    """A ledger with a clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(lambda: self.now)

    def made(self, kind: str, id: str, *, due_s: float = 0.0) -> None:
        """Something was asked for and acknowledged."""
        self.begin(kind, id, by="writer", due_s=due_s)
        self.acknowledge(kind, id)

    def what(self) -> list[str]:
        """What is wrong."""
        return [fault.what for fault in self.faults()]


def test_what_came_once_is_no_fault() -> None:
    book = Book()
    book.made(TUPLE, "a")
    book.see(TUPLE, "a", by="taker")
    assert book.faults() == []
    assert book.checked()[TUPLE] == 1
    assert book.open[TUPLE] == 0


def test_what_was_acknowledged_and_came_to_nobody_is_lost() -> None:
    book = Book()
    book.made(TUPLE, "a")
    assert book.what() == ["tuple a is lost"]
    assert [one.id for one in book.unseen()] == ["a"]


def test_what_came_to_two_was_doubled_and_the_story_says_when_hosts_died() -> None:
    book = Book()
    book.made(TUPLE, "a")
    book.now = 1.0
    book.see(TUPLE, "a", by="one")
    book.happened("ward is killed")
    book.now = 2.0
    book.see(TUPLE, "a", by="other")
    book.now = 60.0
    book.happened("icu is killed")
    (fault,) = book.faults()
    assert fault.what == "tuple a was seen 2 times"
    assert fault.story.splitlines() == [
        "  0.000  begun by writer",
        "  0.000  acknowledged",
        "  1.000  seen by one",
        "  1.000  ward is killed",
        "  2.000  seen by other",
    ]


def test_what_nobody_asked_for_is_a_fault_and_so_is_what_was_never_answered() -> None:
    book = Book()
    book.see(TUPLE, "made up", by="taker")
    book.now = 1.0
    book.begin(TUPLE, "b", by="writer")
    assert book.what() == [
        "tuple made up was seen, and nobody asked for it",
        "tuple b was never answered",
    ]


def test_a_lease_that_ended_in_doubt_may_have_counted_or_not_but_not_twice() -> None:
    book = Book()
    for id in ("gone", "again", "twice"):
        book.made(LENT, id)
        book.doubt(LENT, id, by="one")
    book.see(LENT, "again", by="other")
    book.see(LENT, "twice", by="other")
    book.see(LENT, "twice", by="third")
    assert book.what() == ["lent tuple twice was seen 2 times"]
    assert book.unseen() == []


def test_letters_of_one_sender_come_in_order() -> None:
    book = Book()
    for sender, numbers in (("ann", (1, 2, 3)), ("eve", (1, 3, 2))):
        for number in numbers:
            id = f"{sender}-{number}"
            book.made(MESSAGE, id)
            book.see(MESSAGE, id, by="bob")
            book.see_in_line(sender, "bob", number)
    assert book.what() == ["message 2 of eve came to bob behind message 3"]


def test_an_obligation_must_not_fire_before_it_is_due() -> None:
    book = Book()
    for id, at in (("early", 0.8), ("in time", 1.2)):
        book.now = 0.0
        book.made(OBLIGATION, id, due_s=1.0)
        book.now = at
        book.see(OBLIGATION, id, by="ann")
    assert book.what() == ["obligation early came 0.200 s too early"]
