"""Errors cross the wire by their codes and fields, and nothing else of a peer's choosing does."""

import pickle
import sys
from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

import nomospace.client.dialling
import nomospace.node.entrance
import nomospace.trust  # noqa: F401  # whatever can be raised is loaded
from nomospace.calls.problems import Busy, Refused
from nomospace.control import DisclosedRuling
from nomospace.errors import Bug, CallerError, LimitReached, NomospaceError, PeerError, Unavailable
from nomospace.law import load
from nomospace.meaning.question import FaultyTemplate, parse_template
from nomospace.meaning.reading import read_ontology
from nomospace.meaning.reading.faults import FaultyOntology
from nomospace.terms import Faulty, FaultyPredicate, t, where
from nomospace.terms.source import FaultyText
from nomospace.trust.certificates import CertificateRevoked
from nomospace.trust.presented import SerialReused
from nomospace.wire.errors import (
    FIELDS_BYTES_MAX,
    TEXT_MAX,
    Fault,
    RemoteError,
    decode_error,
    encode_error,
)
from nomospace.wire.packing import Unfit, pack, unpack
from tests.unit.wire.made import example, of


def loaded(kind: type[NomospaceError] = NomospaceError) -> list[type[NomospaceError]]:
    found = []
    for each in kind.__subclasses__():
        if each.__module__.startswith("nomospace.") and not issubclass(each, RemoteError):
            found += [each, *loaded(each)]
    return found


def there_and_back(error: NomospaceError) -> NomospaceError:
    return decode_error(unpack(pack(encode_error(error))))


def same(made: NomospaceError, given: NomospaceError) -> None:
    assert type(made) is type(given)
    for field in fields(given):
        assert getattr(made, field.name) == getattr(given, field.name)
    assert str(made) == str(given)


def part(annotation: Any) -> st.SearchStrategy[Any]:
    """Values for a field of an error."""
    return st.text(max_size=9) if annotation is Any else of(annotation)


DRAWN = (Faulty, FaultyText, FaultyPredicate, FaultyTemplate, FaultyOntology)
"""Errors with places in texts."""


@pytest.mark.parametrize(
    "kind",
    [kind for kind in loaded() if kind not in DRAWN],  # by hand, below
    ids=lambda kind: kind.code,
)
@settings(max_examples=5)
@given(data=st.data())
def test_every_error(kind: type[NomospaceError], data: st.DataObject) -> None:
    hints = get_type_hints(kind)
    parts = {field.name: data.draw(part(hints[field.name])) for field in fields(kind)}
    same(there_and_back(kind(**parts)), kind(**parts))


def test_a_serial_travels_however_long_it_is() -> None:
    """They have 160 bits, and numbers of the wire have 64."""
    serial = f"{(1 << 159) + 1:x}"
    for kind in (CertificateRevoked, SerialReused):
        error = kind(about="certificate of 'ann@ward'", serial=serial)
        same(there_and_back(error), error)


def test_codes_are_unique() -> None:
    """A code names one class, or the wrong one would be made."""
    codes = [kind.code for kind in loaded() if "code" in kind.__dict__]
    assert sorted(codes) == sorted(set(codes))


def test_a_refusal_brings_its_reasons() -> None:
    told = example(DisclosedRuling)
    error = there_and_back(Refused(ruling=told, why="R1 says no"))
    assert isinstance(error, Refused)
    assert error.ruling == told


@pytest.mark.parametrize("number", [2**70, -(2**63) - 1])
def test_a_refusal_may_speak_of_any_number(number: int) -> None:
    told = msgspec.structs.replace(example(DisclosedRuling), operations=(t.deliver(number),))
    error = there_and_back(Refused(ruling=told, why="R1 says no"))
    assert isinstance(error, Refused)
    assert error.ruling == told


def test_the_faults_of_a_law_are_drawn_at_the_other_end() -> None:
    with pytest.raises(Faulty) as caught:
        load("law(x). sent(X, M, Y) :- do(forwrad).", "x.law")
    same(there_and_back(caught.value), caught.value)
    assert "^" in str(there_and_back(caught.value))


def test_the_fault_of_a_predicate_likewise() -> None:
    with pytest.raises(FaultyPredicate) as caught:
        where("> > 5")
    same(there_and_back(caught.value), caught.value)


def test_the_fault_of_a_template_likewise() -> None:
    with pytest.raises(FaultyTemplate) as caught:
        parse_template("(Car where price <)")
    same(there_and_back(caught.value), caught.value)


def test_the_faults_of_an_ontology_likewise() -> None:
    with pytest.raises(FaultyOntology) as caught:
        read_ontology("classes: {Car: {parents: [Thing]}}", "cars.yaml")
    assert str(there_and_back(caught.value)) == str(caught.value)
    assert isinstance(there_and_back(caught.value), FaultyOntology)
    assert "^" in str(caught.value)


# -- what is not known -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CallerError, PeerError, Unavailable])
def test_an_unknown_code_keeps_its_words_its_code_and_its_kind(kind: type[NomospaceError]) -> None:
    error = decode_error(Fault("host.of-tomorrow", kind.code, "the moon is down; wait", {"x": 1}))
    assert isinstance(error, RemoteError)
    assert isinstance(error, kind)
    assert error.code == "host.of-tomorrow"
    assert str(error) == "the moon is down; wait"


def test_other_kinds() -> None:
    assert type(decode_error(Fault("x.y", "bug", "words"))) is RemoteError
    assert type(decode_error(Fault("x.y", "nonsense", "words"))) is RemoteError
    assert encode_error(Bug(story=("a", "b"))).kind == "bug"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"what": "calls"},
        {"what": "calls", "limit": "many"},
        {"what": ["calls"], "limit": 3},
        {"what": {"f": "g"}, "limit": None},
    ],
)
def test_fields_that_do_not_fit(given: dict[str, Any]) -> None:
    error = decode_error(["host.busy", "unavailable", "all is full", given])
    assert isinstance(error, RemoteError)
    assert isinstance(error, Unavailable)
    assert str(error) == "all is full"


def test_fields_of_tomorrow_are_left_out() -> None:
    given = {"what": "calls", "limit": 3, "since": 7}
    same(decode_error(["host.busy", "unavailable", "", given]), Busy(what="calls", limit=3))


def test_a_limit_without_a_class_here_is_still_a_limit() -> None:
    given = {"what": "dogs", "limit": 3, "advice": "have fewer"}
    error = decode_error(["limits.dogs", "caller", "no more dogs", given])
    assert isinstance(error, RemoteError)
    assert isinstance(error, LimitReached)
    assert (error.code, str(error)) == ("limits.dogs", "no more dogs")
    assert (error.what, error.limit, error.advice) == ("dogs", 3, "have fewer")
    assert isinstance(pickle.loads(pickle.dumps(error)), LimitReached)
    bare = decode_error(["limits.dogs", "caller", "no more dogs", {"limit": "many"}])
    assert isinstance(bare, CallerError)
    assert not isinstance(bare, LimitReached)


@pytest.mark.parametrize("raw", [None, 17, "busy", [], ["host.busy"], [1, 2, 3], {"code": "x"}])
def test_what_is_no_error(raw: Any) -> None:
    with pytest.raises(Unfit):
        decode_error(raw)


def test_nothing_is_imported_for_a_peer() -> None:
    before = set(sys.modules)
    for code in (
        "antigravity",
        "os.system",
        "nomospace.cli",
        "__class__",
        "wire.remote",
        "bug",
        "",
    ):
        assert isinstance(decode_error(Fault(code, "caller", "no")), RemoteError)
    assert set(sys.modules) == before


# -- what does not travel ----------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class Odd(CallerError):
    """An error that holds what does not travel."""

    code: ClassVar[str] = "test.odd"
    thing: Any

    def __str__(self) -> str:
        return f"odd: {type(self.thing).__name__}"


@pytest.mark.parametrize("thing", [object(), 2**70, print, "x" * (FIELDS_BYTES_MAX + 1)])
def test_fields_that_do_not_travel_stay_behind(thing: Any) -> None:
    fault = encode_error(Odd(thing=thing))
    assert fault.fields == {}
    error = decode_error(unpack(pack(fault)))
    assert str(error) == f"odd: {type(thing).__name__}"
    assert error.code == "test.odd"


def test_long_words_are_cut() -> None:
    fault = encode_error(Bug(story=("x" * 2 * TEXT_MAX,)))
    assert len(fault.text) == TEXT_MAX
