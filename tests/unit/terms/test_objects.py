from __future__ import annotations

import pickle
from typing import Any

import pytest

from nomospace.terms import (
    MISSING,
    NotAnObject,
    NotATerm,
    Object,
    Term,
    is_object,
    obj,
    property_of,
    same,
    t,
    term,
)


def test_properties_stand_in_the_order_of_their_names() -> None:
    made = obj("Car", "c1", price=4500, make="Fiat", a=[1])
    assert made == term("object('Car', c1, [a([1]), make('Fiat'), price(4500)])")
    assert made == obj("Car", "c1", make="Fiat", a=(1,), price=4500)


def test_no_id_is_none_and_no_properties_are_an_empty_list() -> None:
    assert obj("Car") == term("object('Car', null, [])")


def test_any_property_name_goes() -> None:
    made = obj("Car", None, id=1, class_name=2, **{"two words": 3})
    assert Object.of(made).properties == {"class_name": 2, "id": 1, "two words": 3}


def test_reading_gives_back_what_was_made() -> None:
    wheel = obj("Wheel", size=17)
    made = obj("Car", 7, wheel=wheel, note=None)
    found = Object.of(made)
    assert (found.class_name, found.id) == ("Car", 7)
    assert same(found.properties["wheel"], wheel)
    assert found.properties["note"] is None
    assert found.term == made
    assert Object.of(found.term) == found


def test_objects_are_equal_as_their_terms_are() -> None:
    one = Object("Car", None, {"price": 1})
    assert one == Object("Car", None, {"price": 1})
    assert hash(one) == hash(Object("Car", None, {"price": 1}))
    assert one != Object("Car", None, {"price": 1.0})
    assert one != one.term


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("Car", "it has not its functor, class or list"),
        (None, "it has not its functor, class or list"),
        (t.object("Car", 1), "it has not its functor, class or list"),
        (t.thing("Car", 1, []), "it has not its functor, class or list"),
        (t.object(1, 1, []), "it has not its functor, class or list"),
        (t.object("Car", 1, "x"), "it has not its functor, class or list"),
        (t.object("Car", 1, ["x"]), "x is no property"),
        (t.object("Car", 1, [t.p(1, 2)]), "p(1,2) is no property"),
        (t.object("Car", 1, [t.b(1), t.a(1)]), "property 'a' stands after 'b'"),
        (t.object("Car", 1, [t.a(1), t.a(1)]), "property 'a' stands after 'a'"),
    ],
)
def test_what_is_no_object(value: Term, why: str) -> None:
    with pytest.raises(NotAnObject) as caught:
        Object.of(value)
    assert caught.value.why == why
    assert "write object(Class, Id, [property(V), …])" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", ["", 5, None])
def test_a_class_has_a_name(name: Any) -> None:
    with pytest.raises(NotAnObject, match="its class is named by a string"):
        obj(name)


def test_what_is_no_term_is_no_property() -> None:
    with pytest.raises(NotATerm, match="is no term"):
        obj("Car", price=object())


def test_looking_into_a_term_never_raises() -> None:
    odd = t.object("Car", 1, ["x", t.price(1, 2), t.price(3), t.price(4)])
    assert is_object(odd)
    assert property_of(odd, "price") == 3
    assert property_of(odd, "x") is MISSING
    assert property_of("price", "price") is MISSING
    assert not MISSING
    assert repr(MISSING) == "MISSING"
