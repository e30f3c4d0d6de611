"""What is ordered is done, once; what was not ordered does not happen."""

from __future__ import annotations

from nomospace.control import Ruling
from nomospace.terms import Compound, Term, same, show
from nomospace.terms.values import parts_of
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.history import BARRED, DELIVERED, RULED, SENT, Happening, Packet
from nomospace_lab.sim.world import World


def orders_are_carried_out(world: World) -> Verdict:
    """Packets and deliveries are those that rulings on disk ordered, in their order, none twice.

    A packet may be sent again after a crash, under the same id.
    """
    name = "orders are carried out, and nothing else"
    wanted: dict[tuple[str, int], tuple[Happening, list[tuple[str, Term, Term, str]]]] = {}
    done: dict[tuple[str, int], int] = {}
    cases = 0
    for h in world.history.of(RULED, SENT, DELIVERED):
        if h.kind == RULED:
            orders = _orders(h.what)
            if orders:
                wanted[h.who, h.what.seq] = (h, orders)
                done[h.who, h.what.seq] = 0
            continue
        cases += 1
        if h.kind == SENT:
            packet: Packet = h.what
            key, place = (h.who, packet.id[1]), packet.id[2]
            order = (SENT, packet.sender, packet.message, packet.to)
        else:
            key, place = (h.who, h.what.seq), done.get((h.who, h.what.seq), 0)
            order = (DELIVERED, h.what.sender, h.what.message, h.who)
        if key not in wanted:
            return no(name, "no ruling on disk ordered this", h)
        ruled, orders = wanted[key]
        again = h.kind == SENT and place == done[key] - 1
        if not again and place != done[key]:
            return no(name, f"order {place + 1} came when {done[key]} were done", ruled, h)
        if place >= len(orders) or not same(orders[place], order):
            return no(name, "this is not what the ruling ordered", ruled, h)
        done[key] = place + 1
    if world.quiet:
        for key, (ruled, orders) in wanted.items():
            if done[key] < len(orders):
                return no(name, f"{len(orders) - done[key]} orders were forgotten", ruled)
    return yes(name, cases)


def _orders(ruling: Ruling) -> list[tuple[str, Term, Term, str]]:
    """The messages that a ruling orders, one for each receiver."""
    found: list[tuple[str, Term, Term, str]] = []
    for op in ruling.operations:
        if type(op) is Compound and op.name in ("forward", "multicast"):
            sender, message, to = op.args
            receivers = (to,) if type(to) is str else parts_of(to)
            found.extend([(SENT, sender, message, str(one)) for one in receivers])
        elif type(op) is Compound and op.name == "deliver":
            found.append((DELIVERED, op.args[0], op.args[1], ruling.home))
    return found


def arrivals_were_sent(world: World) -> Verdict:
    """Each arrival is a packet that was sent under the same law, and none is ruled on twice."""
    name = "each arrival was sent under the same law, and is ruled on once"
    under_way: dict[tuple[str, str, Term, str], int] = {}
    seen: set[tuple[str, int, int]] = set()
    cases = 0
    for h in world.history.of(RULED, SENT):
        if h.kind == SENT:
            packet: Packet = h.what
            if packet.id not in seen:
                seen.add(packet.id)
                key = (packet.law, packet.sender, packet.message, packet.to)
                under_way[key] = under_way.get(key, 0) + 1
        elif h.what.event.kind == "arrived":
            cases += 1
            sender, message, home = h.what.event.args
            if home != h.who:
                return no(name, f"{h.who} ruled on what came for {home}", h)
            key = (h.what.law, sender, message, home)
            left = under_way.get(key, 0) - 1
            if left < 0:
                return no(name, f"nobody sent {show(message)} so often under this law", h)
            under_way[key] = left
    return yes(name, cases)


def strangers_are_barred(world: World) -> Verdict:
    """A packet under another law is never taken, and its sender may learn so."""
    name = "packets under another law are barred"
    cases = 0
    for h in world.history.of(BARRED):
        packet, why = h.what
        host = world.where.get(packet.to)
        if why == "lawMismatch":
            cases += 1
            if host is not None and host.disk.members[packet.to].law.hash == packet.law:
                return no(name, "it was under the same law", h)
    return yes(name, cases)
