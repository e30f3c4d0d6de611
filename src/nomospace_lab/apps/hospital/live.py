"""The hospital of `nomospace up --text`: alarms without end, told in sentences as they happen.

`LiveHospital` is a world with a small script that never stops. It watches its own history and
keeps a `Feed`: one `Entry` for each deed, with what became of it. Routine (subscriptions, the
hops of one alarm) is folded into the entry it belongs to, and counted. Nothing here draws.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from nomospace.control import Membership, Ruling
from nomospace.terms import Compound, Term, show, t
from nomospace.terms.values import as_compound, parts_of
from nomospace_lab.apps.hospital.alarms import META, Alarm, carried, read_alarm
from nomospace_lab.apps.hospital.hospital import Hospital
from nomospace_lab.apps.hospital.people import (
    KINDS,
    TEXTS,
    TRICKS,
    Expert,
    FacilityManager,
    HospitalMember,
    IdleInspector,
    Inspector,
    Mediator,
    Mole,
    Rogue,
)
from nomospace_lab.apps.hospital.world import LAYMEN, law_ap, law_of_the_mole
from nomospace_lab.sim.clock import MINUTE_US, SECOND_US
from nomospace_lab.sim.faults import Crash, Cut
from nomospace_lab.sim.history import BARRED, CRASHED, CUT, JOINED, RESTARTED, RULED, Happening
from nomospace_lab.sim.network import Link

FORWARDED, REFUSED, HELD, OBLIGATION, NOTE = "forwarded", "refused", "held", "obligation", "note"
SIGNS: Final = {FORWARDED: "→", REFUSED: "✕", HELD: "⏸", OBLIGATION: "⏳", NOTE: "·"}
ENTRIES_MAX: Final = 200
ALARMS_MAX: Final = 1_000
"""So many alarms are followed; what reaches whom of older ones is no longer told."""
SETTLE_US: Final = 3 * SECOND_US
"""After so long an entry does not change any more, but for stragglers."""
NAMES_MAX: Final = 4
OPENING_S: Final = 20
ROGUE_IS_BLOCKED_AT: Final = 40
"""After so many deeds the facility manager has had enough of the rogue."""
MED, MIRA = "med1@hall", "mira@office"
INSPECTORS: Final = (("felix@er", "fire"), ("bela@lab", "blood"), ("max@office", META))


@dataclass(eq=False)
class Entry:
    """One deed: when, the verdict on it, who did what, the rule with its reason, and who heard."""

    at: int
    verdict: str
    who: str
    what: str
    rule: str = ""
    why: str = ""
    heard: list[str] = field(default_factory=list)
    kept_from: list[str] = field(default_factory=list)
    times: int = 1

    @property
    def outcome(self) -> str:
        """Whom it reached and from whom it was kept."""
        parts = []
        if self.heard:
            parts.append(f"reaches {_names(self.heard)}")
        if self.kept_from:
            parts.append(f"kept from {_names(self.kept_from)}")
        return "; ".join(parts)


class PendingDuty(NamedTuple):
    """An obligation to come: a duty or a release, when (world time), whose, and in words."""

    is_release: bool
    due: int
    who: str
    what: str


class Role(NamedTuple):
    """A member, what it is now, and whether its host is up."""

    who: str
    roles: str
    up: bool


class LiveHospital(Hospital):
    """A hospital that never sleeps."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, law_ap(), link=Link(loss=0.005))
        self.feed: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        self.counts = dict.fromkeys((FORWARDED, REFUSED, HELD, OBLIGATION), 0)
        self.folded = 0
        self.ruled = 0
        self._alarms: dict[Compound, Entry] = {}
        self._script = self.rng("script")
        self._last: dict[str, tuple[str, str]] = {}
        self._deeds_done = 0
        self.history.watcher = self._watch
        self._open()

    def advance(self, until_us: int) -> None:
        """Go on to a moment. What has been told is forgotten."""
        self.run(until_us=until_us)
        self.history.forget()

    # -- people and script -----------------------------------------------------------------

    def _open(self) -> None:
        """People come in, show their certificates and subscribe, all told in one entry."""
        self.enter(MED, Mediator, roles=("mediator",))
        self.enter(MIRA, FacilityManager, roles=("facilityManager",), listens_to=("fire",))
        self.enter("felix@er", Inspector, roles=(t.expert("fire"),), listens_to=("fire",))
        self.enter("bela@lab", IdleInspector, roles=(t.expert("blood"),), listens_to=("blood",))
        self.enter("max@office", IdleInspector, roles=(t.expert(META),), listens_to=(META,))
        self.enter("fiona@ward", Expert, roles=(t.expert("fire"),), listens_to=("fire", "blood"))
        self.enter("paul@ward", Expert, roles=(t.expert("power"),), listens_to=("power", "fire"))
        for number, layman in enumerate(LAYMEN[:4]):
            self.enter(layman, HospitalMember, listens_to=("fire", KINDS[number % 3]))
        self.enter("rolf@ward", Rogue, listens_to=("fire",))
        self.join("mole@er", law_of_the_mole(), Mole)
        for id, kind in INSPECTORS:
            self.act(10, MIRA, FacilityManager.appoint, id, kind)
        self.run(until_us=self.clock.now + OPENING_S * SECOND_US)
        shown = sum(len(person.roles) for person in self.people.values())
        self.feed.clear()
        self._say(
            NOTE,
            "the hospital",
            f"{len(self.people)} members have adopted law AP, shown {shown} certificates"
            " and subscribed",
            "R1, R2",
            "roles come from admin's certificates; a layman's subscription is to experts' alarms",
        )
        for id, kind in INSPECTORS:
            self._say(
                FORWARDED,
                MIRA,
                f"puts {_name(id)} on duty as inspector of {_alarms_of(kind)}",
                "R9",
                "an expert becomes inspector and is subscribed, will it or not",
            )
        self.history.forget()
        self._next_deed()
        self._next_fault()

    def _next_deed(self) -> None:
        self.clock.after(int(self._script.uniform(9, 26) * SECOND_US), self._deed)

    def _deed(self) -> None:
        rng = self._script
        chance = rng.random()
        self._deeds_done += 1
        if self._deeds_done == ROGUE_IS_BLOCKED_AT:
            self._do(MIRA, FacilityManager.block, "rolf@ward", "fire")
        elif chance < 0.48:
            who = rng.choice(LAYMEN[:4])
            kind = rng.choice(("fire", "fire", "blood", "blood", "power"))
            self._last[who] = (kind, rng.choice(TEXTS[kind]))
            self._raise(who, *self._last[who])
        elif chance < 0.62 and self._last:
            who = rng.choice(tuple(self._last))
            self._raise(who, *self._last[who])  # the same again: too soon, mostly
        elif chance < 0.75:
            who, kind = rng.choice((("fiona@ward", "fire"), ("paul@ward", "power")))
            self._raise(who, kind, rng.choice(TEXTS[kind]))
        elif chance < 0.87:
            self._do("rolf@ward", Rogue.flood, 8)
        elif chance < 0.95:
            self._do("rolf@ward", Rogue.trick, rng.randrange(TRICKS - 1), LAYMEN[:2])
        else:
            self._do("mole@er", Mole.shout, tuple(rng.sample(LAYMEN[:4], 2)))
        self._next_deed()

    def _raise(self, who: str, kind: str, text: str) -> None:
        self._do(who, HospitalMember.publish, kind, text)

    def _do(self, who: str, act: Callable[..., None], *args: Any) -> None:
        self._act(who, act, args)

    def _next_fault(self) -> None:
        self.clock.after(int(self._script.uniform(5, 9) * MINUTE_US), self._trouble)

    def _trouble(self) -> None:
        rng = self._script
        now = self.clock.now
        if rng.random() < 0.7:
            steps = rng.choice((0, 2, 3))
            down_us = int(rng.uniform(60, 150) * SECOND_US)
            self._fault(Crash(now, rng.choice(("er", "lab", "ward")), down_us, steps))
        else:
            self._fault(Cut(now, ("ward",), int(rng.uniform(45, 120) * SECOND_US)))
        self._next_fault()

    # -- telling ---------------------------------------------------------------------------

    def _say(self, verdict: str, who: str, what: str, rule: str = "", why: str = "") -> Entry:
        """Add an entry; the same deed once more, with nothing between, only counts."""
        last = self.feed[-1] if self.feed else None
        if last is not None and (last.verdict, last.who, last.what) == (verdict, who, what):
            last.times += 1
            return last
        entry = Entry(self.clock.now, verdict, who, what, rule, why)
        self.feed.append(entry)
        return entry

    def _watch(self, h: Happening) -> None:
        if h.kind == RULED:
            self._watch_ruling(h.who, h.what)
        elif h.kind == BARRED:
            packet, _ = h.what
            what = f"sends {_message(packet.message)} under a law of its own to {_name(h.who)}"
            why = "a controller takes messages only from controllers under the same law"
            self.counts[REFUSED] += 1
            self._say(REFUSED, packet.id[0], what, "law hash", why)
        elif h.kind == CRASHED:
            self._say(NOTE, f"host {h.who}", "crashes; its disk has every ruling")
        elif h.kind == RESTARTED:
            what = f"is back; its {len(h.what)} members are as they were"
            self._say(NOTE, f"host {h.who}", what)
        elif h.kind == CUT:
            self._say(NOTE, "the network", f"is parted: {h.who} cannot reach the others")
        elif h.kind == JOINED:
            self._say(NOTE, "the network", "is whole again")

    def _watch_ruling(self, who: str, ruling: Ruling) -> None:
        self.ruled += 1
        kind = ruling.event.kind
        if kind == "sent":
            self._watch_sent(who, ruling)
        elif kind == "arrived":
            self._watch_arrived(who, ruling)
        elif kind == "obligationDue":
            self._watch_due(who, ruling)
        elif kind == "exception" and ruling.rule == "R15":
            why = "admin never issued it, so it counts for nothing"
            self.counts[REFUSED] += 1
            self._say(REFUSED, who, "shows a forged certificate as fire expert", "R15", why)
        else:
            self.folded += 1

    def _watch_sent(self, who: str, ruling: Ruling) -> None:
        message = ruling.event.args[1]
        verdict = REFUSED if ruling.refused else HELD if ruling.held else FORWARDED
        if who in self.people:
            self.counts[verdict] += 1
        name = _name_of(message)
        if who not in self.people or (name in ("notify", "subscribe") and verdict == FORWARDED):
            self.folded += 1
            return
        if verdict == REFUSED:
            why = self._why_refused(who, message)
            self._say(REFUSED, who, f"may not {_deed(message)}", _not_by(name), why)
            return
        entry = self._say(verdict, who, _deeds(message), ruling.rule or "", _WHY.get(name, ""))
        if name == "publish":
            self._follow(ruling, entry)

    def _follow(self, ruling: Ruling, entry: Entry) -> None:
        """Remember an alarm on its way, to tell whom it reaches."""
        for op in map(as_compound, ruling.operations):
            alarm = carried(op.args[1], "publish") if op.name == "forward" else None
            if alarm is not None:
                expert = alarm.status == "expert"
                entry.what += f", as {'an expert' if expert else 'a layman'}"
                entry.why = _PUBLISHED[alarm.status]
                self._alarms[alarm.term] = entry
                if len(self._alarms) > ALARMS_MAX:
                    del self._alarms[next(iter(self._alarms))]

    def _watch_arrived(self, who: str, ruling: Ruling) -> None:
        message = ruling.event.args[1]
        alarm = carried(message, "notify")
        if alarm is None:
            self.folded += 1
            return
        entry = self._alarms.get(alarm.term)
        if entry is not None:
            (entry.kept_from if ruling.rule is None else entry.heard).append(who)
        for change, _, term, _ in ruling.delta:
            if change == "due" and _name_of(term) == "handlingExpire":
                self.counts[OBLIGATION] += 1
                what = f"owes an answer to {_about(alarm)}"
                why = "an inspector answers laymen within ten minutes"
                self._say(OBLIGATION, who, what, "R6", why)

    def _watch_due(self, who: str, ruling: Ruling) -> None:
        term = as_compound(ruling.event.args[0])
        if term.name != "handlingExpire":
            self.folded += 1
            return
        alarm = read_alarm(term.args[0])
        assert alarm is not None
        what = f"did not answer {_about(alarm)}: a metaAlarm goes out"
        entry = self._say(OBLIGATION, who, what, "R14", "neglect is published, by the law itself")
        self._follow_meta(ruling, entry)

    def _follow_meta(self, ruling: Ruling, entry: Entry) -> None:
        for op in map(as_compound, ruling.operations):
            alarm = carried(op.args[1], "publish")
            if alarm is not None:
                self._alarms[alarm.term] = entry

    def _why_refused(self, who: str, message: Term) -> str:
        """The reason in words. The state is as the refusal found it: it changes nothing."""
        member = self.where[who].members[who]
        name = _name_of(message)
        if name == "publish":
            return _why_silent(member, message)
        if name == "subscribe":
            return "metaAlarms are for their experts, and a subscription names one kind"
        return _WHY_NOT.get(name, "nothing in the law permits it")

    # -- what is pending, and who is who -----------------------------------------------------

    def pending(self) -> list[PendingDuty]:
        """Obligations to come: duties, then releases, each soonest first.

        Those that only tidy up are left out.
        """
        found = []
        for id in self.people:
            host = self.where[id]
            for due, term in host.members[id].pending() if host.up else ():
                what = _obligation(term)
                if what:
                    is_release = _name_of(term) == "releaseBlock"
                    found.append(PendingDuty(is_release, due - host.skew_us, id, what))
        return sorted(found)

    def roles(self) -> list[Role]:
        """Members with what their control states make of them now."""
        found = []
        for id in self.people:
            host = self.where[id]
            words = _roles(host.members[id].state) if host.up else "host is down"
            found.append(Role(id, words, host.up))
        return found


# -- words -----------------------------------------------------------------------------------

_PUBLISHED: Final = {
    "expert": "an expert's alarm is for everyone",
    "layman": "a layman's alarm is for experts, and once in five minutes",
}
_WHY: Final = {
    "ack": "the obligation is repealed",
    "blockLay": "the facility manager may keep laymen from publishing",
    "inspectorOnDuty": "the facility manager may put experts on duty",
}
_RULES: Final = {
    "publish": "R3",
    "notify": "R5",
    "subscribe": "R2",
    "inspectorOnDuty": "R8",
    "blockLay": "R10",
    "ack": "R12",
}
"""The rule that would forward a message, by the message's name."""
_WHY_NOT: Final = {
    "notify": "only certified mediators notify",
    "blockLay": "only the facility manager may",
    "inspectorOnDuty": "only the facility manager may",
    "ack": "no such duty is pending: it was settled, or ten minutes are over",
}


def _not_by(name: str) -> str:
    return f"{_RULES[name]} does not apply" if name in _RULES else "no rule"


def _why_silent(member: Membership, message: Term) -> str:
    body = parts_of(message)[0]
    if type(body) is not Compound or len(body.args) != 2:
        return "informer, standing and time are the law's to fill in"
    kind = parts_of(body.args[0])[0]
    state = tuple(member.state)
    if "blocked" in state or t.blocked(kind) in state:
        return "the facility manager has blocked this layman"
    return "the same alarm less than five minutes ago"


def _name_of(term: Term) -> str:
    return term.name if type(term) is Compound else str(term)


def _name(id: str) -> str:
    return id.partition("@")[0]


def _names(ids: Iterable[str]) -> str:
    """Names without repeats, in the order they came; of many the first three.

    >>> _names(["ann@x", "bob@y", "ann@x"]), _names(f"{name}@x" for name in "abcdef")
    ('ann, bob', 'a, b, c and 3 more')
    """
    names = list(dict.fromkeys(map(_name, ids)))
    if len(names) > NAMES_MAX:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return ", ".join(names)


def _text(text: Term) -> str:
    if type(text) is Compound and text.name == "confirmed":
        return f"confirmed: {_text(text.args[0])}"
    return text if type(text) is str else show(text)


def _deed(message: Term) -> str:
    """What sending a message means, after `may not`."""
    name = _name_of(message)
    if name == "publish":
        listed = map(as_compound, parts_of(parts_of(message)[0]))
        parts = {part.name: part.args[0] for part in listed}
        return f"raise {parts['kind']!s}: “{_text(parts['text'])}”"
    if name == "ack":
        alarm = carried(message, "ack")
        return f"acknowledge {_about(alarm)}" if alarm is not None else "acknowledge"
    return f"send {_message(message)}"


def _deeds(message: Term) -> str:
    """The same, said of somebody who did it.

    >>> _deeds(t.publish(t.alarm(t.kind("fire"), t.text("smoke"))))
    'raises fire: “smoke”'
    """
    verb, _, rest = _deed(message).partition(" ")
    return f"{verb}s {rest}"


def _about(alarm: Alarm) -> str:
    kind = META if alarm.kind == META else f"{alarm.kind} alarm"
    return f"{_name(alarm.informer)}'s {kind}"


def _alarms_of(kind: Term) -> str:
    return "metaAlarms" if kind == META else f"{kind!s} alarms"


def _message(message: Term) -> str:
    """A message in short: what it is, and of which kind of alarm."""
    name = _name_of(message)
    if name == "subscribe":
        asked = map(as_compound, parts_of(parts_of(parts_of(message)[0])[0]))
        kinds = [one.args[0] for one in asked if one.name == "kind"]
        return f"a subscription to {' and '.join(map(_alarms_of, kinds))}"
    if name == "notify":
        alarm = carried(message, "notify")
        return f"a notice of {_about(alarm)}" if alarm is not None else "a notice"
    return show(message)


def _obligation(obligation: Term) -> str:
    term = as_compound(obligation)
    if term.name == "handlingExpire":
        alarm = read_alarm(term.args[0])
        return f"must acknowledge {_about(alarm)}" if alarm is not None else ""
    if term.name == "releaseBlock":
        return f"may repeat “{_text(parts_of(term.args[1])[0])}”"
    return ""


def _roles(state: Iterable[Term]) -> str:
    """What a control state makes of its member, in words.

    >>> _roles([t.expert("fire"), t.inspector("fire"), t.seen("x")])
    'fire expert, inspector'
    >>> _roles([])
    'layman'
    """
    words = []
    for term in state:
        if term == "mediator":
            words.append("mediator")
        elif term == "facilityManager":
            words.append("facility manager")
        elif type(term) is Compound and term.name == "expert":
            words.append(f"{term.args[0]!s} expert")
        elif type(term) is Compound and term.name == "inspector":
            words.append("inspector")
        elif type(term) is Compound and term.name == "blocked" and len(term.args) == 1:
            words.append(f"layman, no {_alarms_of(term.args[0])}")
    return ", ".join(words) or "layman"
