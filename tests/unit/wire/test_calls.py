"""Requests and answers of clients: there and back, and whose fault what is wrong with them is."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from nomospace.calls.answers import Found, Listed
from nomospace.calls.problems import BadReaction, NoSuchWay
from nomospace.calls.requests import Adopt, LawText, Open, Out, OutMany, React, Request, Seek
from nomospace.calls.ways import Strength, Way
from nomospace.control import DisclosedRuling
from nomospace.errors import CallerError, NomospaceError
from nomospace.law import CompiledLaw, load
from nomospace.terms import ANY, BadWidth, Faulty, FormalInTuple, Template, Term, encode
from nomospace.terms.values import same
from nomospace.wire import calls
from nomospace.wire.calls import (
    CALL_PARTS_MAX,
    DEEP_MAX,
    HUGE_MAX,
    PERIOD_US_MAX,
    TEMPLATES_MAX,
    BadCall,
    CallTooWide,
    LawAltered,
    LawShelf,
    LawUnknown,
    StaysAtHome,
    decode_request,
    decode_value,
    encode_request,
    encode_value,
    unpack_parts,
)
from nomospace.wire.forms import WireAdopt
from nomospace.wire.packing import DEEP, Unfit, pack, unpack
from nomospace.wire.slots import SHAPES
from nomospace.wire.values import _TERM, _thaw, _thaw_deep, thaw
from tests.unit.wire.made import FIELDS, TERMS, instances

LAW = load("law(open). sent(X, M, Y) :- do(forward).", "open.law")
OTHER = load("law(shut). sent(X, M, Y) :- do(deliver).", "shut.law")
TEXT = LawText(LAW.hash, "open.law", LAW.tree.source.text)
SEEK = Seek("jobs", Way.TAKE, Template.of(("job", ANY, int)), lease_us=5)


def known(law: str | LawText) -> CompiledLaw:
    assert law in (LAW.hash, TEXT)
    return LAW


def nothing(hash: str) -> CompiledLaw | None:
    return None


def through(value: Any) -> Any:
    """A value as it is read at the other end of a wire."""
    try:
        return unpack(pack(value))
    except OverflowError:
        return unpack(pack(SHAPES.lower(value, raw=True)))


PERIODS = st.integers(0, PERIOD_US_MAX)
REQUESTS = st.one_of(
    st.builds(Out, st.just("jobs"), FIELDS, st.just("ann@x"), PERIODS),
    st.builds(OutMany, st.just("jobs"), st.lists(FIELDS, max_size=3).map(tuple), ttl_us=PERIODS),
    instances(Seek).map(lambda seek: Seek("jobs", seek.how, seek.template, seek.at, seek.dest)),
    instances(React).filter(lambda react: react.strength != "strong"),
    st.builds(Open, st.just("jobs"), st.sampled_from([LAW, None]), st.booleans()),
    st.builds(Adopt, st.just(LAW), st.lists(TERMS, max_size=3).map(tuple)),
    st.sampled_from(
        [
            kind
            for kind in Request.__subclasses__()
            if kind not in (Out, OutMany, Seek, React, Open, Adopt)
        ]
    ).flatmap(instances),
)


@settings(max_examples=100)
@given(REQUESTS, st.booleans())
def test_every_request(request: Request, texts: bool) -> None:
    made = decode_request(through(encode_request(request, texts=texts)), known)
    assert made == request
    assert repr(made) == repr(request)


def test_every_request_is_tried_above() -> None:
    assert len(Request.__subclasses__()) == len(calls.REQUESTS)
    for kind in calls.REQUESTS:
        assert isinstance(kind.__struct_config__.tag, str)


@settings(max_examples=100)
@given(
    st.one_of(
        st.none(),
        st.booleans(),
        st.text(max_size=9),
        st.integers(0, 2**63),
        instances(Found),
        st.lists(instances(Found), max_size=3).map(tuple),
        st.lists(instances(Listed), min_size=1, max_size=3).map(tuple),
        instances(DisclosedRuling),
    )
)
def test_every_answer(value: Any) -> None:
    made = decode_value(through(encode_value(value)))
    assert made == value
    assert repr(made) == repr(value)


def test_native_reading_gives_the_same() -> None:
    found = Found(("job", 17), "ann@x", 3, "ann@x")
    assert decode_value(found) is found
    request = encode_request(SEEK)
    assert decode_request(request, known) == SEEK


# -- whose fault -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        17,
        ["jump", 1],
        [["out"], 1],
        ["out"],
        ["out", 7, ["job"], "", 0],
        ["seek", "jobs", "take", ["job"], "", "", 0],
        {"out": 1},
        WireAdopt,
    ],
)
def test_what_is_no_request_is_the_peers_fault(raw: Any) -> None:
    with pytest.raises(Unfit):
        decode_request(raw, known)


@pytest.mark.parametrize("raw", [2.5, b"x", [], ["founds", [1]], ["out", "jobs"], {}, ["told"]])
def test_what_is_no_answer_is_the_peers_fault(raw: Any) -> None:
    with pytest.raises(Unfit):
        decode_value(raw)


def seek(pattern: Any, lease_us: int = 0) -> list[Any]:
    return ["seek", "jobs", "take", pack(pattern), "", "", lease_us]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (["out", "jobs", [], "", 0], BadWidth),
        (["out", "jobs", [{"f": "formal", "a": ["any"]}], "", 0], FormalInTuple),
        (["out", "jobs", [{"f": "g", "a": []}], "", 0], BadCall),
        (["out", "jobs", [1], "", -1], BadCall),
        (["out", "jobs", [1], "", PERIOD_US_MAX + 1], BadCall),
        (["out-many", "jobs", [[1], []], "", 0], BadWidth),
        (seek([]), BadWidth),
        (seek("job"), BadCall),
        (seek(["job"], lease_us=-5), BadCall),
        (seek([{"f": "formal", "a": ["what"]}]), CallerError),
        (["seek", "jobs", "take", b"\xc1", "", "", 0], BadCall),
        (["react", "jobs", pack(["job"]), "once", "strong", "", ""], StaysAtHome),
        (["adopt", LAW.hash, [float("nan")]], BadCall),
        (["tell", LAW.hash, {"f": "[|]", "a": [1]}, "bob@x"], BadCall),
        (["save", {"f": 1, "a": 2}], BadCall),
    ],
)
def test_what_is_wrong_in_a_request_is_the_callers(raw: Any, kind: type[NomospaceError]) -> None:
    with pytest.raises(kind) as caught:
        decode_request(raw, known)
    assert isinstance(caught.value, CallerError)


def test_a_message_that_is_too_large_is_named() -> None:
    with pytest.raises(BadCall, match="tell cannot be asked for so: a term larger than"):
        decode_request(["tell", LAW.hash, "x" * 1_000_001, "bob@x"], known)


def test_words_of_closed_sets_are_checked_as_they_are_read() -> None:
    pattern = encode(("job",))
    with pytest.raises(NoSuchWay, match=r"'fly' is no way .* use one of take, read, take_nowait"):
        decode_request(["seek", "jobs", "fly", pattern], known)
    with pytest.raises(BadReaction, match=r"'twice' is no mode .* use one of once, once-per-tuple"):
        decode_request(["react", "jobs", pattern, "twice", "weak"], known)
    with pytest.raises(BadReaction, match=r"'mild' is no strength .* use one of strong, weak"):
        decode_request(["react", "jobs", pattern, "once", "mild"], known)
    read = decode_request(["seek", "jobs", "take", pattern], known)
    assert isinstance(read, Seek)
    assert read.how is Way.TAKE


def test_a_strong_reaction_stays_at_home() -> None:
    react = React("jobs", SEEK.template, strength=Strength.STRONG, at="ward")
    with pytest.raises(StaysAtHome, match="make the reaction weak"):
        encode_request(react)
    with pytest.raises(StaysAtHome):
        encode_request(React("jobs", SEEK.template, listener=print))


def test_what_answers_no_request_is_not_sent() -> None:
    with pytest.raises(TypeError, match="float is no answer"):
        encode_value(2.5)
    with pytest.raises(TypeError, match="tuple is no answer"):
        encode_value((1, 2))


# -- laws and templates ------------------------------------------------------------------------


def test_laws_go_by_hash_and_with_their_text_when_asked_for() -> None:
    assert encode_request(Adopt(LAW)) == WireAdopt(LAW.hash, ())
    assert encode_request(Adopt(LAW), texts=True) == WireAdopt(TEXT, ())


def test_a_shelf_keeps_what_it_was_given() -> None:
    shelf = LawShelf({OTHER.hash: OTHER}.get)
    with pytest.raises(LawUnknown, match="send its text") as caught:
        shelf(LAW.hash)
    assert caught.value.hash == LAW.hash
    assert shelf(OTHER.hash) is OTHER
    made = shelf(TEXT)
    assert made.hash == LAW.hash
    assert shelf(LAW.hash) is made is shelf(TEXT)


def test_a_text_of_another_law_is_refused() -> None:
    shelf = LawShelf(nothing)
    with pytest.raises(LawAltered, match="is that of law") as caught:
        shelf(LawText(LAW.hash, "open.law", OTHER.tree.source.text))
    assert caught.value.found == OTHER.hash
    with pytest.raises(LawUnknown):
        shelf(OTHER.hash)
    with pytest.raises(Faulty):
        shelf(LawText(LAW.hash, "open.law", "law(open). sent(X :- do(forward)."))


def test_a_shelf_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "LAWS_MAX", 1)
    shelf = LawShelf(nothing)
    shelf(TEXT)
    shelf(LawText(OTHER.hash, "shut.law", OTHER.tree.source.text))
    with pytest.raises(LawUnknown):
        shelf(LAW.hash)


def test_a_template_is_read_once() -> None:
    first = decode_request(through(encode_request(SEEK)), known)
    again = decode_request(through(encode_request(SEEK)), known)
    assert isinstance(first, Seek)
    assert isinstance(again, Seek)
    assert first.template is again.template == SEEK.template
    assert decode_request(seek(["job", {"f": "formal", "a": ["any"]}]), known).template.plain  # type: ignore[attr-defined]


def test_templates_do_not_pile_up() -> None:
    for number in range(TEMPLATES_MAX + 10):
        decode_request(seek(["job", number]), known)
    decode_request(seek(["x" * 600]), known)
    assert 0 < len(calls._templates) <= TEMPLATES_MAX
    assert all(len(pattern) <= calls.TEMPLATE_BYTES_MAX for pattern in calls._templates)


def test_a_bad_template_is_not_kept() -> None:
    for _ in range(2):
        with pytest.raises(CallerError):
            decode_request(seek([{"f": "formal", "a": ["no-such-type"]}]), known)


def huge(number: int) -> Any:
    return msgspec.msgpack.Ext(1, str(number).encode())


def test_a_template_that_goes_as_bytes_is_counted_before_it_is_read() -> None:
    wide = pack([[[] for _ in range(CALL_PARTS_MAX)]])
    with pytest.raises(CallTooWide, match="lists, strings and numbers in one call goes past"):
        decode_request(["seek", "jobs", "take", wide, "", "", 0], known)
    some = pack([[[] for _ in range(1_000)]])
    found = decode_request(["seek", "jobs", "take", some, "", "", 0], known)
    assert isinstance(found, Seek)
    assert found.template == Template.of([[[] for _ in range(1_000)]])


def test_huge_integers_of_a_call_are_counted_before_they_are_read() -> None:
    # Python gives all of these the same hash, so that a map of them takes the square of its size.
    alike = [huge(((1 << 61) - 1) * ((1 << 200) + n)) for n in range(HUGE_MAX + 1)]
    count, parts = len(alike).to_bytes(2), b"".join(map(pack, alike))
    assert len(parts) > CALL_PARTS_MAX
    with pytest.raises(Unfit, match="keys are not all strings"):
        unpack_parts(b"\xde" + count + b"".join([pack(one) + b"\x01" for one in alike]))
    with pytest.raises(CallTooWide, match="integers past 64 bits in one call goes past"):
        unpack_parts(b"\xdc" + count + parts)
    unpack_parts(b"\xdc" + HUGE_MAX.to_bytes(2) + b"".join(map(pack, alike[:HUGE_MAX])))


def test_lists_deep_inside_others_are_counted_before_they_are_read() -> None:
    def nests(count: int) -> bytes:
        return b"\xdc" + count.to_bytes(2) + (b"\x91" * 500 + b"\x01") * count

    inside = 500 + 1 - DEEP  # of each nest, in the list around it
    few = DEEP_MAX // inside
    unpack_parts(nests(few))
    with pytest.raises(CallTooWide, match="that stand inside more than 40 others goes past"):
        unpack_parts(nests(few + 1))
    wide = pack([[number] for number in range(7_000)])  # many, and none of them deep
    assert len(wide) > CALL_PARTS_MAX
    unpack_parts(wide)


@pytest.mark.parametrize("digits", [b"0", b"-0", b"00018446744073709551616", b"17", b"-", b"1e9"])
def test_a_huge_integer_is_written_in_one_way(digits: bytes) -> None:
    with pytest.raises(Unfit, match="not written as it must be"):
        unpack(pack(msgspec.msgpack.Ext(1, digits)))


@settings(max_examples=60)
@given(st.lists(TERMS, max_size=8))
def test_what_is_wide_and_what_is_deep_is_read_alike(terms: list[Term]) -> None:
    raw = unpack(encode(tuple(terms)))
    assert same(_thaw(raw, _TERM), tuple(terms))
    assert same(_thaw_deep(raw, _TERM), tuple(terms))


def test_what_is_too_deep_for_recursion_is_read_all_the_same() -> None:
    made: Term = ()
    for _ in range(300):
        made = (made, "a" * 250)
    assert same(thaw(unpack(encode(made))), made)
