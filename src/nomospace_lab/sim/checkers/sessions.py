"""What must hold of the sessions of clients: every operation counts once, and none is forgotten."""

from __future__ import annotations

from collections import Counter

from nomospace.calls.answers import Found
from nomospace.calls.requests import READ, TAKE, TAKING, Seek, Settle
from nomospace.terms import Term
from nomospace.wire.talk import FOUND, REPLY, read_found, read_reply, unpack_frame
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.clients import (
    DONE,
    FAILED,
    OPEN,
    ClientWorld,
    Deed,
    found,
    settles,
    written,
)
from nomospace_lab.sim.history import Happening

Fields = tuple[Term, ...]


def taken_once(world: ClientWorld) -> Verdict:
    """A tuple that was written is there, or somebody has it: once, never twice, and never neither.

    In doubt is only what a program that died had asked for: what it wrote may be there or not, and
    what was on its way to it may have gone with it.
    """
    name = "what is written is taken once, or lies there"
    deeds = [deed for client in world.clients for deed in client.deeds]
    there = Counter(world.held)
    on_disk = Counter(
        [row.fields for row in world.server.store.durable.tuples.get("jobs", {}).values()]
    )
    if there != on_disk:
        return no(name, f"the host has {there}, its disk {on_disk}")
    dead = world.server.store.durable.tuples.get("jobs.dead", {})
    there.update([row.fields for row in dead.values()])  # what nobody could be brought to keep
    owned: Counter[Fields] = Counter()
    for deed in deeds:
        request = deed.request
        if isinstance(request, Seek) and request.how in TAKING and not request.lease_us:
            owned.update([one.fields for one in found(deed)])
    leased = {one.lease: one.fields for deed in deeds for one in found(deed) if one.lease}
    for deed in deeds:
        if settles(deed) and isinstance(deed.request, Settle):
            owned[leased[deed.request.lease]] += 1
    doubtful = _doubtful(world)
    cases = 0
    for deed in deeds:
        for fields in written(deed):
            cases += 1
            count = there[fields] + owned[fields]
            if count > 1:
                return no(name, f"{fields} is there {count} times", *_story(world, fields))
            sure = deed.state == DONE and fields not in doubtful
            if not count and sure:
                return no(name, f"{fields} is lost", *_story(world, fields))
            if count and deed.state == FAILED:
                return no(name, f"{fields} is there, though its writer was refused: {deed.error}")
    wrote = {fields for deed in deeds for fields in written(deed)}
    strange = [fields for fields in {**there, **owned} if fields not in wrote]
    return no(name, f"nobody wrote {strange}") if strange else yes(name, cases)


def _doubtful(world: ClientWorld) -> dict[Fields, None]:
    """What was sent to programs that have died, or may have been before a crash of the host."""
    doubtful: dict[Fields, None] = {}
    for client in [one for one in world.clients if not one.alive]:
        sent = [body for wire in client.wires for body in wire.shown]
        sent += world.server.restored.get(f"{client.agent} {client.key}", [])
        for founds in [_founds(body) for body in sent]:
            doubtful.update(dict.fromkeys([one.fields for one in founds]))
        for deed in client.deeds:
            if isinstance(deed.request, Settle):
                lease = deed.request.lease
                lent = [one.fields for other in client.deeds for one in found(other)]
                doubtful.update(dict.fromkeys(lent if lease else ()))
    return doubtful


def _founds(body: bytes) -> tuple[Found, ...]:
    """The tuples in an answer."""
    frame = unpack_frame(body)
    if frame[0] == FOUND:
        return (read_found(frame),)
    value = read_reply(frame) if frame[0] == REPLY else ()
    founds = value if isinstance(value, tuple) else (value,)
    return tuple([one for one in founds if isinstance(one, Found)])


def _story(world: ClientWorld, fields: Fields) -> list[Happening]:
    return [one for one in world.history if f", {fields[-1]!s})" in str(one.what)]


def answers_fit(world: ClientWorld) -> Verdict:
    """A program gets the answer of its own call: tuples that it asked for, and none to a write."""
    name = "an answer is that of its call"
    cases = 0
    for client in world.clients:
        for deed in client.deeds:
            cases += deed.state == DONE
            if deed.state != DONE:
                continue
            request = deed.request
            if not isinstance(request, Seek):
                if deed.value is not None:
                    return no(name, f"{deed} is no answer to that")
                continue
            founds = found(deed)
            if request.how in (TAKE, READ) and len(founds) != 1:
                return no(name, f"{deed} has not one tuple")
            if not all(request.template.matches(one.fields) for one in founds):
                return no(name, f"{deed} does not fit")
    return yes(name, cases)


def nobody_is_forgotten(world: ClientWorld) -> Verdict:
    """When all is calm, every call is answered, but for one that waits for what is not there."""
    name = "every call is answered"
    cases = 0
    for client in world.clients:
        for deed in client.deeds if client.alive else ():
            cases += 1
            if deed.state != OPEN:
                continue
            if not _waits(deed):
                return no(name, f"{deed}")
            for fields in world.held:
                assert isinstance(deed.request, Seek)
                if deed.request.template.matches(fields):
                    return no(name, f"{deed} though {fields} is there")
    return yes(name, cases)


def _waits(deed: Deed) -> bool:
    return isinstance(deed.request, Seek) and deed.request.how in (TAKE, READ)


def sessions_come_to_rest(world: ClientWorld) -> Verdict:
    """When all is calm, hosts keep nothing that clients have seen, in memory or on disk."""
    name = "what was seen is kept no longer"
    sessions = world.server.sessions
    assert sessions is not None, "it is healed"
    keys = {f"{one.agent} {one.key}": one for one in world.clients if one.alive}
    for session in sessions.all:
        client = keys.get(session.key)
        if client is None:
            return no(name, f"the session of {session.key} has outlived its client")
        waits = [deed for deed in client.deeds if deed.state == OPEN]
        if session.outbox or session.weight or session.answers:
            return no(name, f"{session.key} keeps {len(session.outbox)} pushes")
        if len(session.calls) != len(waits) or session.deferred:
            return no(name, f"{session.key} has {session.calls}, its client {len(waits)} calls")
        if len(client.session.calls) != len(waits):
            return no(name, f"{client.key} remembers {len(client.session.calls)} calls")
        if client.reports:
            return no(name, f"{client.reports[0]}")
    gone = [one.agent for one in world.server.store.begin().outbox if one.agent not in keys]
    if gone:
        return no(name, f"the disk keeps something for {gone[0]}")
    return yes(name, len(keys))
