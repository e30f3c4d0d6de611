"""Worlds of secure bidding: requests, bids, and a client who would like to see them all."""

from __future__ import annotations

from functools import cache
from typing import Final

from nomospace import laws
from nomospace.apps.tuplespace import ANY, TupleSpace, answer, field, operation
from nomospace.law import CompiledLaw, load
from nomospace.sim.checkers import Verdict, no, unknown, yes
from nomospace.sim.checkers.quiet import was_hard
from nomospace.sim.clock import SECOND_US
from nomospace.sim.history import DELIVERED, SENT
from nomospace.sim.network import Link
from nomospace.sim.workloads import workload
from nomospace.sim.world import Agent, Certificate, World
from nomospace.terms import Compound, Term, t

MARKET: Final = "market@exchange"
CLIENTS: Final = ("carl@east", "cora@west", "cleo@east", "cyd@west")
PROVIDERS: Final = ("petra@east", "pablo@west", "pia@exchange")
SNOOP: Final = "snoop@west"
SERVICES: Final = ("painting", "plumbing", "catering")
LAST: Final = "the last service"
HEAL_S: Final = 1200


class Client(Agent):
    """Asks for services, takes the bids, and takes requests back."""

    def ask(self, service: str) -> None:
        """Put a request into the market, and wait for bids."""
        self.me.send(t.out((t.requester(self.me.id), t.service(service))), MARKET)
        self.me.after(self.me.rng.uniform(30, 120), lambda: self.collect(service))

    def collect(self, service: str) -> None:
        """Take a bid that was made."""
        mine = (t.offerFor(self.me.id, service), t.fee(ANY), t.provider(ANY), t.contact(ANY))
        self.me.send(Compound("in", (mine,)), MARKET)

    def retract(self, service: str) -> None:
        """Take a request of one's own back."""
        self.me.send(t.inp((t.requester(self.me.id), t.service(service))), MARKET)


class Provider(Agent):
    """Looks for requests and bids for those it has not bid for."""

    def qualify(self, certificate: Certificate) -> None:
        """Show that one is a provider."""
        self.me.present(certificate)

    def look(self) -> None:
        """Read all requests."""
        self.me.send(t.rdg((t.requester(ANY), t.service(ANY))), MARKET)

    def receive(self, sender: str, message: Term) -> None:
        """Bid for each request once."""
        shown = answer(message)
        if shown is None:
            return
        done: list[Term] = self.me.memory.setdefault("bids", [])
        for request in shown[1]:
            if request not in done:
                done.append(request)
                self.bid(field(request, "requester"), field(request, "service"), self.me.id)

    def bid(self, client: Term, service: Term, provider: str) -> None:
        """Make an offer."""
        fee = self.me.rng.randrange(10, 200)
        offer = (
            t.offerFor(client, service),
            t.fee(fee),
            t.provider(provider),
            t.contact(f"mail {provider}"),
        )
        self.me.send(t.out(offer), MARKET)

    def forge(self) -> None:
        """Bid in a competitor's name."""
        others = [other for other in PROVIDERS if other != self.me.id]
        self.bid(self.me.rng.choice(CLIENTS), self.me.rng.choice(SERVICES), others[0])


class Snoop(Client):
    """A client who tries every way to others' requests and bids."""

    def pry(self) -> None:
        """Ask for all that is not for it."""
        me = self.me
        someone, service = me.rng.choice(CLIENTS), me.rng.choice(SERVICES)
        request = (t.requester(someone), t.service(service))
        anyones = (t.requester(ANY), t.service(ANY))
        bid = (t.offerFor(someone, service), t.fee(ANY), t.provider(ANY), t.contact(ANY))
        open_bid = (t.offerFor(ANY, ANY), t.fee(ANY), t.provider(ANY), t.contact(ANY))
        for wanted in (request, anyones, bid, open_bid, ANY):
            for name in ("in", "rd", "inp", "rdp", "rdg"):
                me.send(Compound(name, (wanted,)), MARKET)
        me.send(t.out(request), MARKET)
        false_bid = (t.offerFor(someone, service), t.fee(1), t.provider(me.id), t.contact("me"))
        me.send(t.out(false_bid), MARKET)
        me.present(me_as_provider(me.id))


def me_as_provider(id: str) -> Certificate:
    """A certificate that admin never issued."""
    return Certificate("admin", id, (t.role("serviceProvider"),))


@cache
def law_sb() -> CompiledLaw:
    """Law SB as it is shipped."""
    return load(laws.text("sb"), "sb.law")


def nothing_is_forged(world: World) -> Verdict:
    """(1) What reaches the space names its true writer, and bids are by providers."""
    name = "requests and bids name their true writer"
    cases = 0
    for h in world.history.of(SENT):
        writing = operation(h.what.message)
        if writing is None or writing[0] != "out" or h.what.to != MARKET:
            continue
        cases += 1
        requester, provider = field(writing[1], "requester"), field(writing[1], "provider")
        if (requester or provider) != h.who:
            return no(name, f"{h.who} wrote it", h)
        if provider is not None and provider not in PROVIDERS:
            return no(name, f"{provider} is no provider", h)
    return yes(name, cases)


def requests_are_for_providers(world: World) -> Verdict:
    """(2) Requests are shown to providers only, and removed only by the client who made them."""
    name = "requests are read by providers and removed by their client"
    cases = 0
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        for one in shown[1] if shown is not None else ():
            owner = field(one, "requester")
            if owner is None:
                continue
            cases += 1
            assert shown is not None
            if shown[0] in ("in", "inp") and owner != h.who:
                return no(name, f"{h.who} removed a request of {owner}", h)
            if owner != h.who and h.who not in PROVIDERS:
                return no(name, f"{h.who} read a request of {owner}", h)
    return yes(name, cases)


def bids_are_for_their_client(world: World) -> Verdict:
    """(3) A bid is shown to the client it was made for and to nobody else."""
    name = "bids reach their client only"
    cases = 0
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        for one in shown[1] if shown is not None else ():
            client = field(one, "offerFor")
            if client is None:
                continue
            cases += 1
            if client != h.who:
                return no(name, f"{h.who} got a bid for {client}", h)
    return yes(name, cases)


def deals_are_made(world: World) -> Verdict:
    """Once the faults are over, a request finds its bid."""
    name = "after the healing a request finds a bid"
    if not world.quiet or world.healed_at is None:
        return unknown(name, "the history ends before the last request is settled")
    for h in world.history.of(DELIVERED):
        shown = answer(h.what.message)
        if shown is not None and h.who == CLIENTS[0] and h.at > world.healed_at:
            bid = shown[1][0] if shown[1] else ()
            if bid and t.offerFor(CLIENTS[0], LAST) in bid:
                return yes(name, 1)
    return no(name, f"{CLIENTS[0]} never got a bid for {LAST}", *list(world.history)[-2:])


@workload(
    "bidding",
    "requests and bids under law SB: clients, providers, a space and a snoop",
    checkers=(
        was_hard(messages=50),
        nothing_is_forged,
        requests_are_for_providers,
        bids_are_for_their_client,
        deals_are_made,
    ),
)
def build(seed: int) -> World:
    """A market with its clients, providers, snoop and faults."""
    world = World(seed, link=Link(loss=0.02, repeats=0.02))
    rng = world.rng("population")
    for name in ("exchange", "east", "west"):
        world.host(name, skew_us=rng.randint(-SECOND_US, SECOND_US))
    world.join(MARKET, law_sb(), TupleSpace, manager=True)
    for client in CLIENTS:
        world.join(client, law_sb(), Client)
    for provider in PROVIDERS[:-1]:
        world.join(provider, law_sb(), Provider, args=("serviceProvider",))
    world.join(PROVIDERS[-1], law_sb(), Provider)
    certificate = world.issue("admin", PROVIDERS[-1], t.role("serviceProvider"))
    world.act(5, PROVIDERS[-1], Provider.qualify, certificate)
    world.join(SNOOP, law_sb(), Snoop)
    for client in CLIENTS:
        for service in SERVICES:
            when_s = rng.uniform(10, HEAL_S)
            world.act(when_s, client, Client.ask, service)
            world.act(when_s + rng.uniform(60, 300), client, Client.retract, service)
    for provider in PROVIDERS:
        for when_s in range(30, HEAL_S, 80):
            world.act(when_s + rng.uniform(0, 40), provider, Provider.look)
        world.act(rng.uniform(30, HEAL_S), provider, Provider.forge)
    for _ in range(3):
        world.act(rng.uniform(30, HEAL_S), SNOOP, Snoop.pry)
    world.act(HEAL_S + 10, CLIENTS[0], Client.ask, LAST)
    for provider in PROVIDERS:
        world.act(HEAL_S + 20, provider, Provider.look)
    world.trouble(from_s=30, heal_s=HEAL_S)
    return world
