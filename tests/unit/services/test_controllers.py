"""The controller service: who is offered, in which order, for how long."""

import pytest

from nomospace.services import controllers as service_of
from nomospace.services.controllers import (
    LEASE_US,
    BadOffer,
    Controllers,
    HostNotRegistered,
    Offer,
    TooManyHosts,
)


def _with(*offers: Offer, now: int = 0) -> Controllers:
    service = Controllers()
    for offer in offers:
        service.apply(service.register(offer, now=now))
    return service


def _names(service: Controllers, now: int = 0, **wanted: str) -> str:
    return "".join([offer.name for offer in service.find(now=now, **wanted)])  # type: ignore[arg-type]


def test_only_hosts_that_the_laws_authority_has_certified() -> None:
    service = _with(Offer("a", "a:1", authorities=("k1", "k2")), Offer("b", "b:1"))
    assert _names(service) == "ab"
    assert _names(service, authority="k2") == "a"
    assert _names(service, authority="k3") == ""


def test_a_host_may_serve_some_laws_only() -> None:
    service = _with(Offer("a", "a:1", laws=("h1",)), Offer("b", "b:1"))
    assert (_names(service, law="h1"), _names(service, law="h2")) == ("ab", "b")


def test_near_ones_first_then_idle_ones() -> None:
    service = _with(
        Offer("a", "a:1", "lab.south", load=0.0),
        Offer("b", "b:1", "er.north", load=0.8),
        Offer("c", "c:1", "lab.north", load=0.2),
        Offer("d", "d:1", "lab.north", load=0.1),
    )
    assert _names(service, near="er.north") == "bdca"
    assert _names(service, near="west") == "adcb"
    assert [offer.name for offer in service.find(now=0, limit=1)] == ["a"]


def test_who_falls_silent_is_forgotten_and_who_repeats_is_not() -> None:
    service = _with(Offer("a", "a:1"), Offer("b", "b:1"))
    service.apply(service.register(Offer("a", "a:2"), now=LEASE_US - 1))
    assert _names(service, LEASE_US - 1) == "ab"
    assert _names(service, LEASE_US) == "a"
    assert service.get("a", now=LEASE_US).address == "a:2"
    with pytest.raises(HostNotRegistered):
        service.get("b", now=LEASE_US)


def test_who_leaves_is_not_offered() -> None:
    service = _with(Offer("a", "a:1"))
    service.apply(service.unregister("a"))
    assert _names(service) == ""
    with pytest.raises(HostNotRegistered):
        service.unregister("a")


@pytest.mark.parametrize(
    "offer",
    [
        Offer("", "a:1"),
        Offer("a b", "a:1"),
        Offer("a", "a"),
        Offer("a", "a:0"),
        Offer("a", "a:65536"),
        Offer("a", ":1"),
        Offer("a" * 201, "a:1"),
        Offer("a", "a:1", "x y"),
        Offer("a", "a:1", load=1.5),
        Offer("a", "a:1", load=float("nan")),
        Offer("a", "a:1", authorities=("",)),
        Offer("a", "a:1", laws=("h",) * 1_001),
    ],
)
def test_offers_that_cannot_be(offer: Offer) -> None:
    with pytest.raises(BadOffer):
        Controllers().register(offer, now=0)


def test_the_number_of_hosts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_of, "HOSTS_MAX", 1)
    service = _with(Offer("a", "a:1"))
    with pytest.raises(TooManyHosts):
        service.register(Offer("b", "b:1"), now=0)
    service.register(Offer("a", "a:1"), now=0)
    service.register(Offer("b", "b:1"), now=LEASE_US)  # by then the other one is forgotten
