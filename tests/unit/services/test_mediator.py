"""Who is notified of a publication: the index against the dumbest correct version."""

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from nomospace.services import mediator as mediator_of
from nomospace.services.mediator import (
    NotAPublication,
    NotASubscription,
    Published,
    Subscribed,
    Subscriptions,
    TooManySubscriptions,
    Unsubscribed,
    notification,
    read_request,
)
from nomospace.terms import Compound, Term, same, t, term

ATTRIBUTES = [
    term(text)
    for text in (
        "kind(fire)",
        "kind(blood)",
        "status(expert)",
        "status(layman)",
        "level(1)",
        "level(1.0)",
        "text(smoke)",
        "a",
    )
]
attributes = st.lists(st.sampled_from(ATTRIBUTES), max_size=4)
subscriptions = st.lists(
    st.tuples(
        st.sampled_from(["ann@x", "bob@x", "eve@x"]),
        st.sampled_from(["alarm", "news"]),
        attributes,
        st.booleans(),
    ),
    max_size=40,
)


def _has(published: Iterable[Term], wanted: Term) -> bool:
    return any(same(wanted, each) for each in published)


@given(subscriptions, st.sampled_from(["alarm", "news"]), attributes)
def test_a_publication_goes_to_all_whose_attributes_it_has(
    asked: list[tuple[str, str, list[Term], bool]], topic: str, published: list[Term]
) -> None:
    book = Subscriptions()
    plain: list[tuple[str, str, list[Term]]] = []
    for client, name, criteria, stays in asked:
        book.add(client, Compound(name, (tuple(criteria),)))
        if stays:
            plain.append((client, name, criteria))
    for client, name, criteria, stays in asked:
        if not stays and not any(
            (client, name) == (kept[0], kept[1])
            and all(_has(kept[2], each) for each in criteria)
            and all(_has(criteria, each) for each in kept[2])
            for kept in plain
        ):
            book.remove(client, Compound(name, (tuple(criteria),)))
    expected = {
        client
        for client, name, criteria in plain
        if name == topic and all(_has(published, each) for each in criteria)
    }
    assert book.match(Compound(topic, tuple(published))) == tuple(sorted(expected))


def test_criteria_are_a_set() -> None:
    book = Subscriptions()
    assert book.add("ann@x", term("alarm([kind(fire), level(1)])"))
    assert not book.add("ann@x", term("alarm([level(1), kind(fire), level(1)])"))
    assert book.remove("ann@x", term("alarm([level(1), kind(fire)])"))
    assert not book.remove("ann@x", term("alarm([level(1), kind(fire)])"))
    assert len(book) == 0


def test_nothing_is_scanned() -> None:
    """Of 20,000 subscriptions to other texts, a publication looks at none."""
    book = Subscriptions()
    for number in range(20_000):
        book.add(f"c{number}@x", term(f"alarm([kind(fire), text({number})])"))
    book.add("ann@x", term("alarm([kind(fire)])"))
    looked = 0

    class Counting(dict[bytes, None]):
        def __contains__(self, key: object) -> bool:
            nonlocal looked
            looked += 1
            return super().__contains__(key)

    plain = mediator_of.read_publication
    published = term("alarm(kind(fire), text(17))")
    topic, has = plain(published)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mediator_of, "read_publication", lambda _: (topic, Counting(has)))
        assert book.match(published) == ("ann@x", "c17@x")
    assert looked < 10


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Subscriptions()
    monkeypatch.setattr(mediator_of, "OF_CLIENT_MAX", 1)
    book.add("ann@x", term("alarm([])"))
    assert not book.add("ann@x", term("alarm([])"))
    with pytest.raises(TooManySubscriptions, match="ann@x"):
        book.add("ann@x", term("alarm([a])"))
    monkeypatch.setattr(mediator_of, "SUBSCRIPTIONS_MAX", 1)
    with pytest.raises(TooManySubscriptions, match="this mediator"):
        book.add("bob@x", term("alarm([])"))


@pytest.mark.parametrize("wanted", ["alarm", "alarm(kind(fire))", "alarm([], [])", "3"])
def test_what_is_no_subscription(wanted: str) -> None:
    with pytest.raises(NotASubscription):
        Subscriptions().add("ann@x", term(wanted))
    with pytest.raises(NotASubscription):
        read_request("ann@x", t.subscribe(term(wanted)))


def test_what_is_too_long() -> None:
    with pytest.raises(NotASubscription):
        Subscriptions().add("ann@x", t.alarm(tuple(range(33))))
    with pytest.raises(NotAPublication):
        Subscriptions().match(Compound("alarm", tuple(range(257))))


def test_requests() -> None:
    wanted, alarm = term("alarm([a])"), term("alarm(a)")
    assert read_request("ann@x", t.subscribe(wanted)) == Subscribed("ann@x", wanted)
    assert read_request("ann@x", t.unsubscribe(wanted)) == Unsubscribed("ann@x", wanted)
    assert read_request("ann@x", t.publish(alarm)) == Published(alarm)
    assert read_request("ann@x", t.ack(alarm)) is None
    assert read_request("ann@x", "publish") is None
    with pytest.raises(NotAPublication):
        read_request("ann@x", t.publish("alarm"))
    assert notification(alarm) == term("notify(alarm(a))")
