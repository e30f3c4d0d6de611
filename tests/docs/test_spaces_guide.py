"""The guide for authors of agents names all there is, with the limits that the code has."""

import re
from importlib import import_module
from inspect import getmembers, isclass, signature

import pytest

from nomospace.calls.addresses import NAME_MAX
from nomospace.calls.partition import KEY_BYTES_MAX
from nomospace.client.listening import LIMIT_S
from nomospace.client.membership import MAIL_MAX
from nomospace.client.program import STATE_BYTES_MAX
from nomospace.client.reactions import (
    FIRINGS_MAX as WAITING_FIRINGS_MAX,
    LISTENER_TIMEOUT_S,
    ReactionHandle,
)
from nomospace.client.space import ROWS_MAX, Space
from nomospace.errors import NomospaceError
from nomospace.host.core import HELD_MAX
from nomospace.host.governed import OUTSTANDING_MAX
from nomospace.host.holding import DELIVERIES_MAX
from nomospace.host.open_operations import OPEN_MAX
from nomospace.host.shares import USUAL_SHARES
from nomospace.host.system import DEPARTED_MAX
from nomospace.protocols import policy
from nomospace.protocols.links import HOSTS_MAX
from nomospace.protocols.pace import HEARTBEAT, LOSS, USUAL
from nomospace.protocols.transfers import PENDING_MAX
from nomospace.space import Space as Engine
from nomospace.space.steps import FIRINGS_MAX
from nomospace.terms import TERM_BYTES_MAX
from nomospace.terms.predicate import PREDICATE_CHARS_MAX
from nomospace.terms.templates import WIDTH_MAX
from nomospace.trust.bundles import BUNDLE_BYTES_MAX
from tests.repo.rooms import ROOT

TEXT = (ROOT / "docs" / "spaces" / "guide.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
ENGINE = Engine("any")
LIMITS = {
    "fields of a tuple or a template": WIDTH_MAX,
    "a tuple or a template, in bytes": TERM_BYTES_MAX,
    "a predicate, in characters": PREDICATE_CHARS_MAX,
    "a name of a host, an agent or a space, in characters": NAME_MAX,
    "tuples in one `out_many`": ROWS_MAX,
    "the field that a space is partitioned by, in bytes": KEY_BYTES_MAX,
    "tuples in a space of one host": ENGINE.tuples_max,
    "operations that wait at one host": OPEN_MAX,
    "reactions on a space of one host": ENGINE.reactions_max,
    "firings that wait for one listener": WAITING_FIRINGS_MAX,
    "firings in one step on what listeners brought": FIRINGS_MAX,
    "leases before a tuple is a dead letter": DELIVERIES_MAX,
    "seconds that a word on a lease waits for the tuple's host": USUAL_SHARES.lease_word_s,
    "messages in one inbox": MAIL_MAX,
    "operations of an agent on a governed space without an answer": OUTSTANDING_MAX,
    "tuples under way to one host": PENDING_MAX,
    "calls held while the group changes": HELD_MAX,
    "departed hosts, agents and spaces that `LimeSystem` shows": DEPARTED_MAX,
    "a program's state, in bytes": STATE_BYTES_MAX,
    "a bundle of code, in bytes": BUNDLE_BYTES_MAX,
    "hosts of a group": HOSTS_MAX,
}
RAISING = (
    "calls.addresses",
    "calls.partition",
    "calls.problems",
    "client",
    "host.lending",
    "host.monitoring",
    "host.problems",
    "node",
    "protocols.pace",
    "protocols.policy",
    "space.engine",
    "space.search",
    "sync",
    "terms.budget",
    "terms.formals",
    "terms.objects",
    "terms.predicate",
    "terms.templates",
    "terms.tuples",
    "terms.values",
)
INSIDE = {
    "host.agent-exists",
    "host.cancelled",
    "host.no-program",
    "host.no-such-agent",
    "host.other-store",
    "ontology.unknown",  # the guide of meaning has it
    "space.bad-reaction",
    "space.name-taken",
    "space.no-such-way",
    "space.not-an-agent",
    "space.not-in-space",
    "space.tuple-twice",
    "space.waiting-in-listener",
}
"""What only those who drive a core by hand can meet: the client asks for nothing of the kind."""
FIGURES = """
    LimeTupleSpace(name) getName() isOwner() isShared() setShared(isShared) setShared(lts,
    out(tuple) out(destination, in(template) in(current, rd(template) rd(current, inp(current,
    rdp(current, ing(current, rdg(current, addStrongReaction(reactions) addWeakReaction(reactions)
    removeReaction(reactions) isRegisteredReaction(reaction) getRegisteredReactions()
    getTemplate() getListener() getMode() getCurrentLocation() getDestinationLocation()
    UbiquitousReaction(template, LocalizedReaction(current, getTupleSpaceName() getSubscriber()
    isWeakReaction() getEventTuple() getReaction() getSourceAgent() reactsTo(e) engage()
    disengage() isConnected(agent) enableReaction disableReaction ONCE ONCEPERTUPLE
    Location.UNSPECIFIED AgentLocation HostLocation
""".split()


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_limits_in_prose() -> None:
    assert f"1 to {WIDTH_MAX} fields" in SECTIONS["Templates"]
    reactions = " ".join(SECTIONS["Reactions"].split())
    assert f"for more than {LIMIT_S:g} s" in reactions
    assert f"`listener_timeout`, {LISTENER_TIMEOUT_S:g} s by default" in reactions
    assert f"When {WAITING_FIRINGS_MAX:,} firings wait" in reactions
    assert f"after {FIRINGS_MAX:,} firings in one step" in reactions
    assert DELIVERIES_MAX == 5
    assert "its fifth lease" in SECTIONS["Leases and dead letters"]


def test_times_of_groups() -> None:
    section = SECTIONS["Groups"]
    assert f"| a new neighbour is heard | within {HEARTBEAT / 1e6:g} s |" in section
    assert f"before a new view is proposed | {USUAL.settle / 1e6:g} s |" in section
    assert f"counts as lost | after {LOSS / 1e6:g} s |" in section
    assert f"at most | {USUAL.frozen_max / 1e6:g} s at a stretch |" in section
    assert f"after {LOSS / 1e6:g} s of silence" in SECTIONS["When contact is lost"]


@pytest.mark.parametrize("name", ["Reachable", "Announced", "Position"])
def test_policies(name: str) -> None:
    assert hasattr(policy, name)
    assert f"| `{name}(" in SECTIONS["Groups"]


def _raised() -> dict[str, type[NomospaceError]]:
    found: dict[str, type[NomospaceError]] = {}
    for room in RAISING:
        module = import_module(f"nomospace.{room}")
        for name in getattr(module, "_FACE", ()):  # what is loaded on use
            getattr(module, name)
        for _, kind in getmembers(module, isclass):
            if issubclass(kind, NomospaceError) and "." in kind.code:
                found[kind.code] = kind
    return found


def test_errors() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([a-z.-]+)` \|", SECTIONS["Errors"], re.MULTILINE)
    raised = {code: kind.__name__ for code, kind in _raised().items() if code not in INSIDE}
    assert {code: name for name, code in rows} == raised
    assert len(rows) == len(raised)


def test_every_operation_of_a_space() -> None:
    for name, method in getmembers(Space, callable):
        if not name.startswith("_") and name != "handles":
            assert f"{name}(" in TEXT or f"`{name}" in TEXT, name
            for option in signature(method).parameters:
                if option in ("to", "ttl", "at", "dest", "timeout", "lease", "mode", "strength"):
                    assert f"{option}=" in TEXT, option


def test_what_a_handle_offers() -> None:
    for name in (
        "disable",
        "enable",
        "remove",
        "wait_fired",
        "wait_registered",
        "template",
        "mode",
    ):
        assert hasattr(ReactionHandle, name)
        assert name in SECTIONS["Reactions"] or f"handle.{name}" in SECTIONS["From LIME to here"]


@pytest.mark.parametrize("name", FIGURES)
def test_every_method_of_the_figures_has_its_row(name: str) -> None:
    left = [row.split("|")[1] for row in SECTIONS["From LIME to here"].split("\n") if "|" in row]
    assert any(f"`{name}" in cell for cell in left)


def test_every_row_of_table_one() -> None:
    rows = re.findall(r"^\| (–|ω|Ω) \| (–|λ) \|", SECTIONS["Where to look"], re.MULTILINE)
    assert len(set(rows)) == len(rows) == 6


def test_what_a_host_answers_with_arrives_at_its_client_as_what_it_is() -> None:
    """A client loads no host: an error of another room would come as one without a class."""
    at_clients = ("calls", "client", "errors", "terms")
    local = {
        "host.not-in-time",
        "links.bad-pace",
        "node.bad-link",
        "node.name-taken",
        "node.not-in-time",
        "policy.no-safe-distance",
        "policy.not-a-position",
        "sync.would-block",
    }
    for code, kind in _raised().items():
        if code not in INSIDE | local:
            assert kind.__module__.split(".")[1] in at_clients, kind
