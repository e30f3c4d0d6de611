"""The library of a law server."""

import pytest

from nomospace import laws
from nomospace.law import load
from nomospace.services import laws as library_of
from nomospace.services.laws import (
    BadLawName,
    LawNotShelved,
    LawShelved,
    LawTooLarge,
    Library,
    LibraryFull,
    OtherHash,
    OtherName,
)
from nomospace.terms import Faulty

ONE = "law(echo). R1. sent(_, _, _) :- do(forward)."
SAME = "law(echo).   % another layout\nR1. sent(_, _, _) :- do(forward)."
TWO = "law(echo). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."


def _put(library: Library, name: str, text: str, now: int = 0) -> str:
    change = library.put(name, text, now=now)
    assert change is not None
    library.apply(change)
    return change.hash


def test_a_law_has_the_hash_that_controllers_compare() -> None:
    library = Library()
    assert _put(library, "ap", laws.text("ap")) == load(laws.text("ap")).hash


def test_another_law_under_a_name_is_a_new_version_and_the_old_one_stays() -> None:
    library = Library()
    first, second = _put(library, "echo", ONE, 1), _put(library, "echo", TWO, 2)
    assert library.versions("echo") == (first, second)
    assert (library.get("echo").hash, library.get("echo").at) == (second, 2)
    assert library.get("echo", 1).text == library.get(f"sha256:{first}").text == ONE


def test_the_text_of_a_hash_is_never_replaced() -> None:
    library = Library()
    first = _put(library, "echo", ONE)
    assert library.put("echo", SAME, now=5) is None
    _put(library, "echo", TWO)
    assert _put(library, "echo", SAME) == first  # an old law may become the newest again
    assert (library.get("echo").version, library.get("echo").text) == (3, ONE)
    assert len(library) == 2


def test_what_was_written_down_makes_the_same_library() -> None:
    library = Library()
    changes: list[LawShelved] = []
    for text in (ONE, TWO, SAME):
        change = library.put("echo", text, now=len(changes), by="ops")
        assert change is not None
        library.apply(change)
        changes.append(change)
    again = Library(changes)
    assert [again.get("echo", n) for n in (1, 2, 3)] == [library.get("echo", n) for n in (1, 2, 3)]
    assert again.put("echo", ONE, now=9) is None


def test_laws_in_python_too() -> None:
    text = laws.path("ap").with_name("ap.law.py").read_text("utf-8")
    change = Library().put("ap", text, now=0, language="law.py")
    assert change is not None
    assert change.language == "law.py"
    with pytest.raises(Faulty):
        Library().put("ap", text, now=0)


@pytest.mark.parametrize("name", ["", "a/b", "../ap", "sha256:00", "a" * 101, "ä", "a b"])
def test_names(name: str) -> None:
    with pytest.raises(BadLawName):
        Library().put(name, ONE, now=0)


def test_what_is_not_taken_in() -> None:
    library = Library()
    with pytest.raises(OtherName, match=r"law\(echo\)"):
        library.put("ap", ONE, now=0)
    with pytest.raises(OtherHash):
        library.put("echo", ONE, now=0, expect="0" * 64)
    with pytest.raises(Faulty, match="unknown"):
        library.put("echo", "law(echo). R1. sent(_, _, _) :- nonsense(X).", now=0)
    with pytest.raises(LawTooLarge):
        library.put("echo", ONE + "%" * library_of.TEXT_BYTES_MAX, now=0)
    assert len(library) == 0


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    _put(library, "echo", ONE)
    monkeypatch.setattr(library_of, "VERSIONS_MAX", 1)
    with pytest.raises(LibraryFull, match="versions of 'echo'"):
        library.put("echo", TWO, now=0)
    monkeypatch.setattr(library_of, "VERSIONS_MAX", 9)
    monkeypatch.setattr(library_of, "LAWS_MAX", 1)
    with pytest.raises(LibraryFull, match="laws"):
        library.put("echo", TWO, now=0)
    monkeypatch.setattr(library_of, "LAWS_MAX", 9)
    monkeypatch.setattr(library_of, "LIBRARY_BYTES_MAX", len(ONE) + len(TWO) - 1)
    with pytest.raises(LibraryFull, match="bytes"):
        library.put("echo", TWO, now=0)


@pytest.mark.parametrize(("name", "version"), [("no", 0), ("echo", 2), (f"sha256:{'0' * 64}", 0)])
def test_what_is_not_there(name: str, version: int) -> None:
    library = Library()
    _put(library, "echo", ONE)
    with pytest.raises(LawNotShelved):
        library.get(name, version)


def test_the_list_goes_on_where_it_ended() -> None:
    library = Library()
    for name in ("c", "a", "b"):
        _put(library, name, ONE.replace("echo", name))
    assert [each.name for each in library.editions(limit=2)] == ["a", "b"]
    assert [each.name for each in library.editions("b")] == ["c"]
