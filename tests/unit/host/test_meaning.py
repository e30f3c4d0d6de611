"""Hosts whose spaces speak ontologies, and what several tuples answer together."""

from __future__ import annotations

from typing import Any

import pytest

from nomospace.calls.answers import Found
from nomospace.calls.problems import OntologyUnknown
from nomospace.calls.requests import Adopt, OntologyText, Open, React, Seek, Sets, Share
from nomospace.calls.ways import Mode, Way
from nomospace.host.speaking import (
    TOLD_LEVELS_MAX,
    OntologyTooLong,
    OtherOntology,
    read_told,
)
from nomospace.law import load
from nomospace.meaning.canon import NotAnOntology, written
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.question import BadQuestion
from nomospace.terms import ANY, a, obj, show
from nomospace.terms.templates import Template
from nomospace.terms.values import parts_of
from tests.paper.hosts import Hosts

ANN, BOB, EVE = "ann@a", "bob@b", "eve@a"
CARS = Ontology(
    "cars",
    [
        OntologyClass("Car", ("Automobile",)),
        OntologyClass("SportsCar", parents=("Car",)),
        OntologyClass("Insurance"),
        OntologyClass("Finance"),
    ],
)
BOATS = Ontology("boats", [OntologyClass("Boat")])
ECHO = load("law(echo). sent(X, M, Y) :- do(forward). arrived(X, M, Y) :- do(deliver).")


def text(ontology: Ontology) -> OntologyText:
    return OntologyText(ontology.hash, ontology.name, written(ontology))


def speaker(net: Hosts, agent: str, ontology: Ontology | None = CARS, space: str = "jobs") -> str:
    net.agent(agent)
    net.do(agent, Open(space, None, True, text(ontology) if ontology is not None else None))
    net.do(agent, Share((space,)))
    return agent


def asked(how: str, *pattern: Any, **sets: Any) -> Seek:
    return Seek("jobs", Way(how), Template.of(pattern), sets=Sets(**sets))


@pytest.fixture
def net() -> Hosts:
    net = Hosts("ab", links="")
    speaker(net, ANN)
    return net


# -- which ontology ------------------------------------------------------------------------------


def test_a_class_accepts_what_the_ontology_says(net: Hosts) -> None:
    net.out(ANN, "sale", obj("SportsCar", "s1", price=9))
    found: Found = net.ask(ANN, Seek("jobs", Way.READ, Template.of([a("Automobile", "price > 5")])))
    assert (found.fields[0], found.why) == ("sale", "SportsCar is a Automobile")
    assert net.seek(ANN, "read_nowait", a("SportsCar"), "sale") == found.fields
    assert net.seek(ANN, "take_nowait", a("Insurance")) is None


def test_a_host_learns_an_ontology_once(net: Hosts) -> None:
    with pytest.raises(OntologyUnknown, match="not known to this host"):
        net.do(ANN, Open("boats", None, True, OntologyText(BOATS.hash)))
    net.do(ANN, Open("boats", None, True, text(BOATS)))
    net.do(ANN, Open("ships", None, True, OntologyText(BOATS.hash)))
    assert list(net.disks["a"].ontologies) == [CARS.hash, BOATS.hash]
    with pytest.raises(NotAnOntology, match="its hash is"):
        net.do(ANN, Open("x", None, True, OntologyText("00", "boats", written(BOATS))))


def test_one_name_speaks_one_ontology_on_a_host(net: Hosts) -> None:
    net.agent(EVE)
    with pytest.raises(OtherOntology, match=r"speaks ontology .*, not ontology"):
        net.do(EVE, Open("jobs", None, True, text(BOATS)))
    net.do(EVE, Open("jobs"))  # who names none speaks what is spoken
    net.do(EVE, Share(("jobs",)))
    net.out(EVE, obj("SportsCar", "s1"))
    assert net.seek(EVE, "read_nowait", a("Car")) is not None
    with pytest.raises(OtherOntology):
        net.do(EVE, Open("jobs", None, True, text(BOATS)))


def test_a_space_opened_before_others_shared_it_stays_private(net: Hosts) -> None:
    net.agent(EVE)
    net.do(EVE, Open("late"))
    net.do(ANN, Open("late", None, True, text(CARS)))
    net.do(ANN, Share(("late",)))
    with pytest.raises(OtherOntology, match="not none"):
        net.do(EVE, Share(("late",)))


def test_it_is_had_after_a_crash(net: Hosts) -> None:
    net.out(ANN, obj("SportsCar", "s1"))
    net.stop("a")
    net.start("a")
    assert net.seek(ANN, "read_nowait", a("Car")) is not None
    net.do(ANN, Open("more", None, True, OntologyText(CARS.hash)))


def test_it_goes_along_when_its_agent_moves(net: Hosts) -> None:
    net.out(ANN, obj("SportsCar", "s1"))
    net.move(ANN, "b")
    assert net.seek(ANN, "read_nowait", a("Car")) is not None
    assert list(net.disks["b"].ontologies) == [CARS.hash]


def test_hosts_share_a_space_where_both_speak_the_same() -> None:
    net = Hosts("ab")
    speaker(net, ANN)
    speaker(net, BOB)
    net.settle()
    net.out(BOB, obj("SportsCar", "s1"))
    found: Found = net.ask(ANN, Seek("jobs", Way.TAKE, Template.of([a("Car")])))
    assert (found.source, found.why) == (BOB, "SportsCar is a Car")


def test_hosts_with_different_ontologies_each_have_their_own() -> None:
    net = Hosts("ab")
    speaker(net, ANN)
    speaker(net, BOB, None)
    net.settle()
    net.out(BOB, obj("SportsCar", "s1"))
    waiting = net.begin(ANN, "take", a("Car"))
    net.run(2)
    assert net.got(waiting) is None
    net.out(BOB, "letter", to=ANN)
    net.run(2)
    assert net.held(ANN, "letter") == []


# -- waiting and reacting --------------------------------------------------------------------------


def test_a_waiting_take_is_served_by_meaning(net: Hosts) -> None:
    waiting = net.begin(ANN, "take", a("Car"), "sale")
    net.out(ANN, "sale", obj("Insurance", "i1"))
    assert net.got(waiting) is None
    net.out(ANN, obj("SportsCar", "s1"), "for", "sale")
    assert net.got(waiting)[0] == obj("SportsCar", "s1")


def test_a_reaction_fires_by_meaning(net: Hosts) -> None:
    net.react(ANN, a("Car"), mode=Mode.ONCE_PER_TUPLE)
    net.out(ANN, obj("SportsCar", "s1"))
    net.out(ANN, obj("Finance", "f1"))
    net.out(ANN, "old", obj("Automobile", "m1"))
    net.run(0.1)
    assert [parts_of(one.found.fields[-1])[1] for one in net.fired] == ["s1", "m1"]


def test_a_lease_by_meaning(net: Hosts) -> None:
    net.out(ANN, obj("SportsCar", "s1"))
    found = net.ask(ANN, Seek("jobs", Way.TAKE, Template.of([a("Car")]), lease_us=1_000_000))
    assert found.lease
    assert found.why == "SportsCar is a Car"
    assert net.seek(ANN, "read_nowait", a("Car")) is None
    net.run(2)
    assert net.seek(ANN, "read_nowait", a("Car")) is not None


# -- several tuples together -----------------------------------------------------------------------

BOTH = (a("Car"), a("Insurance"), a("Finance"))


def papers(net: Hosts, car: str, agent: str = ANN) -> None:
    net.out(agent, obj("SportsCar", car), obj("Insurance", f"i-{car}"))
    net.out(agent, "loan", obj("SportsCar", car), obj("Finance", f"f-{car}"))


def test_several_tuples_are_taken_together_or_not_at_all(net: Hosts) -> None:
    papers(net, "s1")
    assert net.seek(ANN, "take_nowait", *BOTH) is None  # unless it is asked for
    found: Found = net.ask(ANN, asked("take_nowait", *BOTH))
    assert [parts_of(one)[1] for one in found.fields] == ["s1", "i-s1", "f-s1"]
    assert found.why == "SportsCar is a Car; ann@a#1 and ann@a#2 share SportsCar s1"
    assert [(one.writer, one.count) for one in found.members] == [(ANN, 1), (ANN, 2)]
    assert found.rows[1][0] == "loan"
    assert net.seek(ANN, "read_all", ANY, ANY) == []
    assert net.disks["a"].tuples["jobs"] == {}
    assert net.ask(ANN, asked("take_nowait", *BOTH)) is None


def test_a_single_tuple_goes_before_several(net: Hosts) -> None:
    papers(net, "s1")
    whole = (obj("Finance", "f2"), obj("Insurance", "i2"), obj("Car", "c2"))
    net.out(ANN, *whole)
    assert net.ask(ANN, asked("read", *BOTH)).fields == whole
    assert len(net.ask(ANN, asked("read_all", *BOTH))) == 1
    everything = net.ask(ANN, asked("read_all", *BOTH, correlate="always"))
    assert [len(one.members) for one in everything] == [0, 2]


def test_taking_all_leaves_out_what_is_gone(net: Hosts) -> None:
    papers(net, "s1")
    net.out(ANN, obj("SportsCar", "s1"), obj("Insurance", "other"))
    taken = net.ask(ANN, asked("take_all", *BOTH))
    assert len(taken) == 1
    assert net.seek(ANN, "read_all", ANY, ANY) == [
        (obj("SportsCar", "s1"), obj("Insurance", "other"))
    ]


def test_a_waiting_take_wakes_with_the_last_of_its_tuples(net: Hosts) -> None:
    net.out(ANN, obj("SportsCar", "s1"), obj("Insurance", "i1"))
    mine = net.call(ANN, asked("take", obj("Car", "s1"), *BOTH[1:]))
    others = net.call(ANN, asked("take", obj("Car", "s9"), *BOTH[1:]))
    net.out(ANN, obj("SportsCar", "s2"), obj("Finance", "f2"))
    assert net.got(mine) is None
    net.out(ANN, obj("SportsCar", "s1"), obj("Finance", "f1"))
    assert [one.args[1] for one in net.got(mine)] == ["s1", "i1", "f1"]
    assert net.got(others) is None
    assert len(net.seek(ANN, "read_all", ANY, ANY)) == 1
    assert len(net.disks["a"].tuples["jobs"]) == 1


def test_of_two_who_wait_for_one_set_one_has_it(net: Hosts) -> None:
    net.agent(EVE, "jobs")
    first, second = net.call(EVE, asked("take", *BOTH)), net.call(ANN, asked("take", *BOTH))
    papers(net, "s1")
    assert net.got(first) is not None
    assert net.got(second) is None
    papers(net, "s2")
    assert net.got(second) is not None


def test_a_key_ties_all_tuples_to_one_object(net: Hosts) -> None:
    net.out(ANN, obj("Car", "c1"), obj("Insurance", "i1"))
    net.out(ANN, obj("Insurance", "i1"), obj("Finance", "f1"))
    assert net.ask(ANN, asked("read_nowait", *BOTH)) is not None
    assert net.ask(ANN, asked("read_nowait", *BOTH, key="Car")) is None
    assert net.ask(ANN, asked("read_nowait", *BOTH, key="Insurance")) is not None


def test_expired_tuples_are_part_of_no_set(net: Hosts) -> None:
    papers(net, "s1")
    net.hosts["a"].spaces.levels["jobs"].space.oldest(1)[0].expires = net.now + 5
    net.now += 5
    assert net.ask(ANN, asked("read_nowait", *BOTH)) is None


def test_a_question_that_would_take_too_large_a_plan_is_cut_and_noted(
    net: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomospace.space.alike.NETWORKS_MAX", 2)
    for car in "abcd":
        net.out(ANN, obj("Car", car), obj("Insurance", "i"), obj("Car", f"{car}{car}"))
        net.out(ANN, obj("SportsCar", car), obj("Insurance", "i"))
    net.out(ANN, obj("Insurance", "i"), obj("Finance", "f"))
    assert net.ask(ANN, asked("read_nowait", *[a("Car")] * 4, a("Finance", "paid = 1"))) is None
    ((_, note),) = [one for one in net.notes if one[1].what == "sets-cut"]
    assert note.facts["complete"] == 3
    assert net.ask(ANN, asked("read_nowait", *[a("Car")] * 4, a("Finance"))) is not None


@pytest.mark.parametrize(
    ("seek", "why"),
    [
        (Seek("jobs", Way.TAKE, Template.of(["job", int]), sets=Sets()), "names classes"),
        (asked("take", *BOTH, correlate="often"), "auto, always or never"),
        (asked("take", *BOTH, max_set=99), "it is 1 to"),
    ],
)
def test_what_cannot_be_asked(net: Hosts, seek: Seek, why: str) -> None:
    with pytest.raises(BadQuestion, match=why):
        net.do(ANN, seek)


PRICED = Ontology(
    "priced",
    [
        OntologyClass("Money", properties={"amount": "number"}),
        OntologyClass("Car", properties={"price": "Money"}),
        OntologyClass("Van", parents=("Car",), properties={"load": "Money"}),
    ],
)


@pytest.mark.parametrize("way", [Way.READ_NOWAIT, Way.TAKE])
def test_a_path_that_begins_nowhere_is_told_with_what_there_is(way: Way) -> None:
    net = Hosts("a", links="")
    speaker(net, ANN, PRICED)
    wrong = Template.of([a("Car", "pricce.amount < 5000")])
    said = "Car has no property `pricce`: did you mean `price`\\? it has load, price"
    with pytest.raises(BadQuestion, match=said):
        net.do(ANN, Seek("jobs", way, wrong))
    with pytest.raises(BadQuestion, match=said):
        net.do(ANN, React("jobs", wrong, Mode.ONCE))
    for right in ("price.amount < 5", "Car.price.amount < 5", "load.amount < 5", "colour = 'red'"):
        assert net.do(ANN, Seek("jobs", Way.READ_NOWAIT, Template.of([a("Car", right)]))) is None


def test_paths_are_not_looked_up_in_a_large_ontology() -> None:
    car = OntologyClass("Car", properties={"price": "number"})
    net = Hosts("a", links="")
    speaker(net, ANN, Ontology("large", [car, *[OntologyClass(f"C{n}") for n in range(500)]]))
    wrong = Template.of([a("Car", "pricce.amount < 5000")])
    assert net.do(ANN, Seek("jobs", Way.READ_NOWAIT, wrong)) is None


def test_a_law_sees_what_is_asked_and_what_is_found() -> None:
    net = Hosts("a", laws=[ECHO])
    net.agent(ANN)
    net.do(ANN, Adopt(ECHO))
    net.do(ANN, Open("jobs", ECHO, True, text(CARS)))
    net.do(ANN, Share(("jobs",)))
    waiting = net.call(ANN, asked("take", *BOTH, key="Car"))
    papers(net, "s1")
    found = net.value(waiting)
    assert [parts_of(one)[1] for one in found.fields] == ["s1", "i-s1", "f-s1"]
    assert len(found.members) == 2
    messages = [show(one.event.args[1]) for _, one in net.ruled if len(one.event.args) == 3]
    asks = "in([formal(class('Car')),formal(class('Insurance')),formal(class('Finance'))]"
    assert any(
        one.startswith(f"{asks},[correlate(auto),maxSet(6),key('Car')])") for one in messages
    )
    assert any(one.startswith(f"found({asks}") for one in messages)
    assert net.seek(ANN, "read_all", ANY, ANY) == []


def test_an_ontology_of_a_client_has_few_classes_one_above_the_other() -> None:
    """What is above a class is looked through, and noted, for the first tuple that names it."""

    def chain(levels: int) -> OntologyText:
        made = Ontology(
            "o", [OntologyClass(f"C{n}", parents=(f"C{n - 1}",) * (n > 0)) for n in range(levels)]
        )
        return OntologyText(made.hash, "o", written(made))

    read_told(chain(TOLD_LEVELS_MAX))
    with pytest.raises(OntologyTooLong, match="101 classes one above the other goes past"):
        read_told(chain(TOLD_LEVELS_MAX + 1))
