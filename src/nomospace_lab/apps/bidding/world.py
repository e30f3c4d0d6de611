"""Worlds of secure bidding: requests, bids, and a client who would like to see them all.

Providers come and go as such: one is certified after it has joined, one loses its role while it
reads and has a reaction registered, and gets it back.
"""

from __future__ import annotations

from functools import cache, partial
from random import Random
from typing import Final

from nomospace import laws
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, show, t
from nomospace.terms.templates import ANY, Template
from nomospace.terms.values import as_compound, parts_of
from nomospace_lab.apps.governed import (
    CALM_S,
    CHANGES_MIN,
    CRASHES_MIN,
    GOVERNED,
    GovernedWorld,
    field,
)
from nomospace_lab.sim.checkers import Verdict, no, unknown, yes
from nomospace_lab.sim.checkers.ruled import delivers, sights
from nomospace_lab.sim.checkers.views import was_hard
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.history import RULED, Happening
from nomospace_lab.sim.observed import ANSWERED, ASKED
from nomospace_lab.sim.requests import (
    ONCE,
    ONCE_PER_TUPLE,
    READ,
    READ_ALL,
    READ_NOWAIT,
    STRONG,
    TAKE,
    TAKE_ALL,
    TAKE_NOWAIT,
    WEAK,
    Answer,
    Out,
    React,
    Request,
    Seek,
    Tell,
    Way,
)
from nomospace_lab.sim.workloads import workload

MARKET: Final = "market"
HOSTS: Final = ("exchange", "east", "west")
CLIENTS: Final = ("carl@east", "cora@west", "cleo@exchange", "cyd@west")
PROVIDERS: Final = ("petra@east", "pablo@west", "pia@exchange")
DOUBTFUL: Final = "pablo@west"
"""A provider whose certificate is revoked for a while."""
CERTIFIED: Final = "pia@exchange"
"""A provider by certificate; the others claim to be."""
ROAMER: Final = "cyd@west"
SNOOP: Final = "snoop@west"
SERVICES: Final = ("painting", "plumbing", "catering")
LAST: Final = "the last service"
ROLE: Final = t.role("serviceProvider")
HEAL_S: Final = 40
END_S: Final = HEAL_S + CALM_S + 10
HOWS: Final = (TAKE, READ, TAKE_NOWAIT, READ_NOWAIT, TAKE_ALL, READ_ALL)


@cache
def law_sb() -> CompiledLaw:
    """Law SB as it is shipped."""
    return load(laws.text("sb"), "sb.law")


def requests_of(client: object, service: object = ANY) -> Template:
    """The template of requests."""
    return Template.of((t.requester(client), t.service(service)))


def bids_for(client: object, service: object = ANY) -> Template:
    """The template of bids."""
    return Template.of((t.offerFor(client, service), t.fee(ANY), t.provider(ANY), t.contact(ANY)))


class BiddingMarket:
    """What clients and providers do."""

    def __init__(self, world: Sites, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self._bids = 0
        self._done: set[tuple[str, str]] = set()

    # -- clients ---------------------------------------------------------------------------

    def ask(self, client: str, service: str) -> None:
        """Put a request into the market."""
        self.world.call(client, Out(MARKET, (t.requester(client), t.service(service))))

    def collect(self, client: str, service: str, how: Way) -> None:
        """Take or read a bid that was made, or comes."""
        at = "" if how in (TAKE, READ) else self.rng.choice(("", *HOSTS))
        self.world.call(client, Seek(MARKET, how, bids_for(client, service), at))

    def retract(self, client: str, service: str) -> None:
        """Take a request of one's own back, wherever it is."""
        self.world.call(client, Seek(MARKET, TAKE, requests_of(client, service)))

    # -- providers -------------------------------------------------------------------------

    def look(self, provider: str) -> None:
        """Read all requests of all hosts, and bid for each once."""
        for host in HOSTS:
            seek = Seek(MARKET, READ_ALL, requests_of(ANY), at=host)
            self.world.call(provider, seek, lambda answer: self._bid_for(provider, answer))

    def _bid_for(self, provider: str, answer: Answer) -> None:
        for found in answer.value or ():
            key = (provider, show(found.fields))
            if key not in self._done:
                self._done.add(key)
                client, service = field(found.fields, "requester"), field(found.fields, "service")
                self.world.call(provider, Out(MARKET, self.offer(client, service, provider)))

    def offer(self, client: Term, service: Term, provider: str) -> tuple[Term, ...]:
        """A bid; no two are alike."""
        self._bids += 1
        return (
            t.offerFor(client, service),
            t.fee(self.rng.randrange(10, 200)),
            t.provider(provider),
            t.contact(f"{provider}, {self._bids}"),
        )

    def watch(self, provider: str) -> None:
        """React to requests, from afar or on the own host; and wait for one."""
        strength = self.rng.choice((WEAK, WEAK, STRONG))
        at = (self.world.where[provider] or provider) if strength == STRONG else ""
        mode = self.rng.choice((ONCE, ONCE_PER_TUPLE, ONCE_PER_TUPLE))
        self.world.call(provider, React(MARKET, requests_of(ANY), mode, strength, at))
        self.world.call(provider, Seek(MARKET, READ, requests_of(ANY, self.rng.choice(SERVICES))))

    def forge(self, provider: str) -> None:
        """Bid in a competitor's name."""
        other = next(one for one in PROVIDERS if one != provider)
        bid = self.offer(self.rng.choice(CLIENTS), self.rng.choice(SERVICES), other)
        self.world.call(provider, Out(MARKET, bid))

    # -- the snoop -------------------------------------------------------------------------

    def pry(self, law: CompiledLaw) -> None:
        """Try some of all the ways to what is not for the snoop."""
        for request in self.rng.sample(self.ways(law), 12):
            self.world.call(SNOOP, request)

    def ways(self, law: CompiledLaw) -> list[Request]:
        """Every way to others' requests and bids."""
        rng = self.rng
        someone, service = rng.choice(CLIENTS), rng.choice(SERVICES)
        at = rng.choice(("", someone, *HOSTS))
        templates = (
            requests_of(someone, service),
            requests_of(ANY),
            bids_for(someone, service),
            bids_for(ANY),
            Template.of((ANY, ANY)),
            Template.of((ANY, ANY, ANY, ANY)),
        )
        ways: list[Request] = []
        for template in templates:
            ways += [Seek(MARKET, how, template, at) for how in HOWS]
            ways.append(React(MARKET, template, ONCE_PER_TUPLE, WEAK, at))
            ways.append(React(MARKET, template, ONCE, STRONG, self.world.where[SNOOP] or SNOOP))
            ways.append(Tell(law.hash, t.rdp(template.term), MARKET))
            ways.append(Tell(law.hash, Compound("in", (template.term,)), MARKET))
        forged = (t.requester(someone), t.service(f"snooping {self._bids}"))
        certificate = (t.issuer("admin"), t.subject(SNOOP), t.attributes((ROLE,)))
        ways += [
            Out(MARKET, forged),
            Out(MARKET, self.offer(someone, service, SNOOP)),
            Tell(law.hash, t.certified(certificate), SNOOP),
            Tell(law.hash, t.certified(certificate), MARKET),
        ]
        return ways


def nothing_is_forged(world: Sites) -> Verdict:
    """(1) What reaches the space names its true writer, and bids are by providers."""
    name = "requests and bids name their true writer"
    cases = 0
    asked = {h.what.op: h for h in world.history.of(ASKED)}
    for h in world.history.of(ANSWERED):
        request = asked[h.what.op].what.request if h.what.op in asked else None
        if not isinstance(request, Out) or h.what.error is not None:
            continue
        cases += 1
        requester, provider = field(request.fields, "requester"), field(request.fields, "provider")
        if (requester or provider) != h.who:
            return no(name, f"{h.who} wrote it", asked[h.what.op], h)
        if provider is not None and provider not in PROVIDERS:
            return no(name, f"{provider!s} is no provider", asked[h.what.op], h)
    return yes(name, cases)


def requests_are_for_providers(world: Sites) -> Verdict:
    """(2) Requests are shown to providers only, and removed only by the client who made them."""
    name = "requests are read by providers and removed by their client"
    cases = 0
    for sight in sights(world):
        owner = field(sight.fields, "requester")
        if owner is None:
            continue
        cases += 1
        removed = sight.how in (TAKE, TAKE_NOWAIT, TAKE_ALL)
        if removed and owner != sight.agent:
            return no(name, f"{sight.agent} removed a request of {owner!s}", sight.h)
        if not removed and sight.agent not in PROVIDERS:
            return no(name, f"{sight.agent} is no provider and read a request", sight.h)
    return yes(name, cases)


def lost_roles_show_nothing(world: Sites) -> Verdict:
    """Who has lost the role is shown nothing from then on, not even what was asked for before.

    Who has it follows from what controllers were told, not from what they made of it. Many rulings
    may share a step, so it is the ruling that shows a request which counts, not the moment at
    which the agent hears of it.
    """
    name = "who is a provider no longer is shown no request"
    providers: set[str] = set()
    lost: dict[str, Happening] = {}
    cases = 0
    for h in world.history.of(RULED):
        kind, args = h.what.event.kind, h.what.event.args
        if kind == "certified" or (kind == "adopted" and "serviceProvider" in args[0]):
            providers.add(h.who)
        elif kind == "revoked":
            providers.discard(h.who)
            lost[h.who] = h
        elif kind == "arrived" and h.who in lost and h.who not in providers and _shows(args[1]):
            cases += 1
            if any(_shows(message) for message, _ in delivers(h.what)):
                return no(name, f"{h.who} was shown it all the same", lost[h.who], h)
    return yes(name, cases)


def _shows(message: Term) -> bool:
    """Whether an answer shows somebody a request to read."""
    if type(message) is not Compound or message.name not in ("found", "reacted"):
        return False
    asked, shown = message.args
    operation = as_compound(asked).name if message.name == "found" else ""
    if operation in ("in", "inp", "ing"):
        return False
    rows = parts_of(shown) if operation == "rdg" else (shown,)
    return any(field(parts_of(row), "requester") is not None for row in rows)


def bids_are_for_their_client(world: Sites) -> Verdict:
    """(3) A bid is shown to the client it was made for and to nobody else."""
    name = "bids reach their client only"
    cases = 0
    for sight in sights(world):
        client = field(sight.fields, "offerFor")
        if client is not None:
            cases += 1
            if client != sight.agent:
                return no(name, f"{sight.agent} got a bid for {client!s}", sight.h)
    return yes(name, cases)


def deals_are_made(world: Sites) -> Verdict:
    """Once the faults are over, a request finds its bid on another host."""
    name = "after the healing a request finds a bid"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last request is settled")
    wanted = t.offerFor(CLIENTS[0], LAST)
    if any(sight.agent == CLIENTS[0] and wanted in sight.fields for sight in sights(world)):
        return yes(name, 1)
    return no(name, f"{CLIENTS[0]} never got a bid for {LAST}", *list(world.history)[-2:])


@workload(
    "bidding",
    "requests and bids under law SB: clients, providers, a space and a snoop",
    checkers=(
        was_hard(calls=100, changes=CHANGES_MIN, crashes=CRASHES_MIN),
        nothing_is_forged,
        requests_are_for_providers,
        bids_are_for_their_client,
        lost_roles_show_nothing,
        deals_are_made,
    ),
    everywhere=GOVERNED,
)
def build(seed: int) -> Sites:
    """A market on three hosts with its clients, providers, snoop and faults."""
    law = law_sb()
    community = GovernedWorld(seed, law, MARKET)
    world, rng = community.world, community.rng
    community.hosts(*HOSTS)
    community.join(*CLIENTS, SNOOP, CERTIFIED)
    community.join(*PROVIDERS[:-1], args=("serviceProvider",))
    market = BiddingMarket(world, world.rng("market"))
    community.act(1, world.certify, CERTIFIED, law, "admin", ROLE)
    for client in CLIENTS:
        for service in SERVICES:
            when_s = rng.uniform(2, HEAL_S - 8)
            community.act(when_s, market.ask, client, service)
            for _ in range(2):
                how = rng.choice((TAKE, READ, TAKE_NOWAIT, READ_ALL))
                community.act(when_s + rng.uniform(1, 8), market.collect, client, service, how)
            community.act(when_s + rng.uniform(4, 15), market.retract, client, service)
    for provider in PROVIDERS:
        for when_s in range(4, HEAL_S, 7):
            community.act(when_s + rng.uniform(0, 6), market.look, provider)
        for when_s in (2, HEAL_S * rng.random()):
            community.act(when_s, market.watch, provider)
        community.act(rng.uniform(3, HEAL_S), market.forge, provider)
    _doubt(community, market)
    for _ in range(5):
        community.act(rng.uniform(3, HEAL_S + CALM_S), market.pry, law)
    community.roam(ROAMER, until_s=HEAL_S, times=2)
    community.act(HEAL_S + CALM_S, market.ask, CLIENTS[0], LAST)
    for provider in PROVIDERS:
        community.act(HEAL_S + CALM_S + 2, market.look, provider)
    community.act(HEAL_S + CALM_S + 3, market.collect, CLIENTS[0], LAST, TAKE)
    community.trouble(heal_s=HEAL_S, end_s=END_S)
    return world


def _doubt(community: GovernedWorld, market: BiddingMarket) -> None:
    """The role of a provider is revoked for a while, more than once, while it is at work."""
    world, law, rng = community.world, community.law, community.rng
    for begin_s in (8, 24):
        at_s = rng.uniform(begin_s, begin_s + 6)
        community.act(at_s - 2, market.watch, DOUBTFUL)
        community.act(at_s - 0.02, market.look, DOUBTFUL)
        community.act(at_s, partial(world.certify, held=False), DOUBTFUL, law, "admin", ROLE)
        community.act(at_s + rng.uniform(3, 8), world.certify, DOUBTFUL, law, "admin", ROLE)
