"""What must hold in every hospital: policy AP, as seen from outside.

Who is an expert, a mediator or the manager is known from the certificates that were issued, never
from control states: a law that forgets to look would fool itself, and must not fool these.
Times are those of the home's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from nomospace.control import Ruling
from nomospace.terms import Compound, Term, show
from nomospace.terms.values import parts_of
from nomospace_lab.apps.hospital.alarms import META, Alarm, carried, depth
from nomospace_lab.apps.hospital.hospital import Hospital
from nomospace_lab.sim.checkers import Checker, Verdict, no, unknown, yes
from nomospace_lab.sim.clock import MINUTE_US
from nomospace_lab.sim.history import DELIVERED, HEALED, RULED, Happening
from nomospace_lab.sim.world import World

ALL_CLEAR: Final = "all clear"
PAUSE_US: Final = 5 * MINUTE_US
PATIENCE_US: Final = 10 * MINUTE_US


def laymen_hear_no_laymen(world: World) -> Verdict:
    """(3) A layman's alarm is delivered to experts on its kind and to nobody else."""
    name = "no layman receives a layman's alarm"
    hospital = _hospital(world)
    cases = 0
    for h in hospital.history.of(DELIVERED):
        alarm = carried(h.what.message, "notify")
        if alarm is None or _is_experts(hospital, alarm):
            continue
        cases += 1
        if not _expert_on(hospital, h.who, alarm.kind):
            return no(name, f"{h.who} is no expert on {alarm.kind}", h)
    return yes(name, cases)


def meta_alarms_go_to_experts(world: World) -> Verdict:
    """(5c) metaAlarms are delivered to metaAlarm experts only, whoever raised them."""
    name = "metaAlarms reach metaAlarm experts only"
    hospital = _hospital(world)
    cases = 0
    for h in hospital.history.of(DELIVERED):
        alarm = carried(h.what.message, "notify")
        if alarm is None or alarm.kind != META:
            continue
        cases += 1
        if not _expert_on(hospital, h.who, META):
            return no(name, f"{h.who} is no expert on {META}", h)
    return yes(name, cases)


def only_mediators_mediate(world: World) -> Verdict:
    """(2) Publications and subscriptions are delivered to certified mediators only."""
    name = "only certified mediators get publications"
    hospital = _hospital(world)
    cases = 0
    for h in hospital.history.of(DELIVERED):
        message = h.what.message
        if type(message) is Compound and message.name in ("publish", "subscribe"):
            cases += 1
            person = hospital.people.get(h.who)
            if person is None or not person.mediates:
                return no(name, f"nobody certified {h.who} as a mediator", h)
    return yes(name, cases)


def laymen_do_not_repeat(world: World) -> Verdict:
    """(4) No membership of a layman publishes the same alarm twice within five minutes."""
    name = "no layman publishes an alarm twice in five minutes"
    hospital = _hospital(world)
    last: dict[tuple[str, str, Term], Happening] = {}
    cases = 0
    for h, alarm in _published(hospital):
        if _expert_on(hospital, h.who, alarm.kind):
            continue
        cases += 1
        key = (h.who, alarm.kind, alarm.text)
        before = last.get(key)
        if before is not None and h.what.at - before.what.at < PAUSE_US:
            after_s = (h.what.at - before.what.at) / 1e6
            return no(name, f"{h.who} published it again after {after_s:g} s", before, h)
        last[key] = h
    return yes(name, cases)


def alarms_tell_the_truth(world: World) -> Verdict:
    """(3) A published alarm names its true informer, that one's true standing, and the time."""
    name = "published alarms name informer, standing and time truly"
    hospital = _hospital(world)
    cases = 0
    for h, alarm in _published(hospital):
        cases += 1
        if alarm.informer != h.who:
            return no(name, f"{h.who} published as {alarm.informer}", h)
        if (alarm.status == "expert") != _expert_on(hospital, h.who, alarm.kind):
            return no(name, f"{h.who} published as {alarm.status} on {alarm.kind}", h)
        if round(alarm.time * 1e6) != h.what.at:
            return no(name, f"the alarm says {alarm.time}, the clock {h.what.at / 1e6}", h)
    return yes(name, cases)


def the_blocked_are_silent(world: World) -> Verdict:
    """(4) Whom the manager has blocked publishes nothing of that kind as a layman."""
    name = "blocked laymen publish nothing"
    hospital = _hospital(world)
    blocks: dict[tuple[str, Term], Happening] = {}
    cases = 0
    for h in hospital.history.of(RULED):
        event = h.what.event
        if event.kind == "arrived":
            message = event.args[1]
            if message == "blockLay":
                blocks.setdefault((h.who, None), h)
            elif type(message) is Compound and message.name == "blockLay":
                blocks.setdefault((h.who, message.args[0]), h)
        for alarm in _publications(h.what):
            block = blocks.get((h.who, None)) or blocks.get((h.who, alarm.kind))
            raised_by_law = event.kind == "obligationDue"
            if block is None or raised_by_law or _expert_on(hospital, h.who, alarm.kind):
                continue
            return no(name, f"{h.who} published in spite of it", block, h)
        if event.kind == "sent" and (h.who, None) in blocks:
            cases += 1
    return yes(name, cases + len(blocks))


class _Duty(NamedTuple):
    """A layman's alarm that an inspector received while on duty for its kind."""

    received: Happening
    alarm: Alarm


def neglect_brings_one_meta_alarm(world: World) -> Verdict:
    """(5b, 5c) Not acknowledged in ten minutes: exactly one metaAlarm. Acknowledged: none.

    Received is what an inspector's controller ruled to deliver; whatever crash came after, the
    ruling was on disk. The number of mediators that brought it makes no difference.
    """
    name = "an alarm that its inspector neglects brings exactly one metaAlarm"
    hospital = _hospital(world)
    duties, acks, raised = _duties(hospital), _acks(hospital), _raised(hospital)
    for (inspector, about), metas in raised.items():
        if (inspector, about) not in duties:
            return no(name, f"{inspector} was not on duty for {show(about)}", metas[0])
        if len(metas) > 1:
            received = duties[inspector, about].received
            return no(name, f"{len(metas)} metaAlarms came", received, *metas[:2])
    for (inspector, about), (received, _) in duties.items():
        due = received.what.at + PATIENCE_US
        metas = raised.get((inspector, about), [])
        ack = next((a for a in acks.get((inspector, about), []) if a.what.at < due), None)
        if ack is not None and metas:
            return no(name, "acknowledged in time, and a metaAlarm came", received, ack, metas[0])
        if ack is None and not metas:
            if not hospital.quiet:
                return unknown(name, f"the history ends before {show(about)} is settled")
            return no(name, f"{inspector} did nothing and no metaAlarm came", received)
        if metas and metas[0].what.at < due:
            return no(name, "the metaAlarm came before ten minutes were over", received, metas[0])
    return yes(name, len(duties))


def meta_alarms_stay_bounded(world: World) -> Verdict:
    """No metaAlarm is about a metaAlarm about a metaAlarm; none is raised without a duty."""
    name = "metaAlarms about metaAlarms stay bounded"
    hospital = _hospital(world)
    count = 0
    for h, alarm in _published(hospital):
        if alarm.kind == META and alarm.about is not None:
            count += 1
            if depth(alarm) > 2:
                return no(name, f"this one is {depth(alarm)} deep", h)
    # Each alarm lays a duty on an inspector of its kind, and a metaAlarm about it at most one on
    # the inspector of metaAlarms: so there are at most twice as many as first duties.
    first = sum(duty.alarm.kind != META for duty in _duties(hospital).values())
    if count > 2 * first:
        return no(name, f"{count} metaAlarms for {first} alarms that inspectors received")
    return yes(name, count)


def inspectors_are_subscribed(world: World) -> Verdict:
    """(5a) Whoever is put on duty is subscribed to all alarms of the kind in the same ruling."""
    name = "an inspector put on duty is subscribed"
    hospital = _hospital(world)
    cases = 0
    for h in hospital.history.of(RULED):
        order = _appointment(hospital, h)
        if order is None:
            continue
        cases += 1
        kind, mediator = order
        wanted = Compound("subscribe", (Compound("alarm", ((Compound("kind", (kind,)),),)),))
        if Compound("forward", (h.who, wanted, mediator)) not in h.what.operations:
            return no(name, f"{h.who} was not subscribed at {mediator}", h)
    return yes(name, cases)


def the_last_alarms_arrive(world: World) -> Verdict:
    """Once the faults are over, an alarm reaches all who subscribed and may hear it."""
    name = "after the healing alarms reach everyone they should"
    hospital = _hospital(world)
    healed = next((h for h in hospital.history.of(HEALED)), None)
    if healed is None or not hospital.quiet:
        return unknown(name, "the history ends before the last alarms have settled")
    heard: dict[str, set[str]] = {"expert": set(), "layman": set()}
    for h in hospital.history.of(DELIVERED):
        alarm = carried(h.what.message, "notify")
        if alarm is not None and h.at > healed.at and alarm.text == ALL_CLEAR:
            heard[alarm.status].add(h.who)
    cases = 0
    for person in hospital.people.values():
        if "fire" not in person.listens_to:
            continue
        for status, ears in heard.items():
            if status == "expert" or person.expert_on("fire"):
                cases += 1
                if person.id not in ears:
                    return no(name, f"{person.id} did not hear the {status}'s last alarm", healed)
    return yes(name, cases)


ALL: Final[tuple[Checker, ...]] = (
    laymen_hear_no_laymen,
    laymen_do_not_repeat,
    neglect_brings_one_meta_alarm,
    meta_alarms_stay_bounded,
    meta_alarms_go_to_experts,
    only_mediators_mediate,
    alarms_tell_the_truth,
    the_blocked_are_silent,
    inspectors_are_subscribed,
    the_last_alarms_arrive,
)


# -- reading a history -----------------------------------------------------------------------


def _hospital(world: World) -> Hospital:
    assert isinstance(world, Hospital), "this is asked of hospitals"
    return world


def _expert_on(hospital: Hospital, id: str, kind: str) -> bool:
    person = hospital.people.get(id)
    return person is not None and person.expert_on(kind)


def _is_experts(hospital: Hospital, alarm: Alarm) -> bool:
    """Whether an alarm is by an expert on its kind, by the certificates and not by its word."""
    return _expert_on(hospital, alarm.informer, alarm.kind)


def _publications(ruling: Ruling) -> Iterator[Alarm]:
    """The alarms that a ruling sends to mediators; one for several mediators counts once."""
    for op in ruling.operations:
        if type(op) is Compound and op.name in ("forward", "multicast"):
            alarm = carried(op.args[1], "publish")
            if alarm is not None:
                yield alarm


def _published(hospital: Hospital) -> Iterator[tuple[Happening, Alarm]]:
    for h in hospital.history.of(RULED):
        if h.who in hospital.people:
            for alarm in _publications(h.what):
                yield h, alarm


def _appointment(hospital: Hospital, h: Happening) -> tuple[str, str] | None:
    """Kind and mediator, where a ruling puts an expert on duty by order of the manager."""
    event = h.what.event
    if event.kind != "arrived" or event.args[0] != hospital.manager:
        return None
    message = event.args[1]
    if type(message) is not Compound or message.name != "inspectorOnDuty":
        return None
    kind, mediator = [str(parts_of(one)[0]) for one in message.args[:2]]
    return (kind, mediator) if _expert_on(hospital, h.who, kind) else None


_Key = tuple[str, Compound]


def _duties(hospital: Hospital) -> dict[_Key, _Duty]:
    on_duty: set[tuple[str, str]] = set()
    found: dict[_Key, _Duty] = {}
    for h in hospital.history.of(RULED):
        order = _appointment(hospital, h)
        if order is not None:
            on_duty.add((h.who, order[0]))
        if h.what.event.kind != "arrived":
            continue
        alarm = carried(h.what.event.args[1], "notify")
        if alarm is None or (h.who, alarm.kind) not in on_duty or _is_experts(hospital, alarm):
            continue
        if any(type(op) is Compound and op.name == "deliver" for op in h.what.operations):
            found.setdefault((h.who, alarm.term), _Duty(h, alarm))
    return found


def _acks(hospital: Hospital) -> dict[_Key, list[Happening]]:
    found: dict[_Key, list[Happening]] = {}
    for h in hospital.history.of(RULED):
        event = h.what.event
        if event.kind == "sent" and event.args[2] == hospital.manager:
            alarm = carried(event.args[1], "ack")
            if alarm is not None:
                found.setdefault((h.who, alarm.term), []).append(h)
    return found


def _raised(hospital: Hospital) -> dict[_Key, list[Happening]]:
    found: dict[_Key, list[Happening]] = {}
    for h, alarm in _published(hospital):
        if alarm.kind == META and alarm.about is not None:
            found.setdefault((h.who, alarm.about), []).append(h)
    return found
