"""The messages of law AP, made and read."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from nomospace.terms import Compound, Term, t
from nomospace.terms.values import as_compound

META: Final = "metaAlarm"


class Alarm(NamedTuple):
    """An alarm as it travels, completed by the law: `term` is all of it."""

    kind: str
    time: float
    informer: str
    status: str
    text: Term
    term: Compound

    @property
    def about(self) -> Compound | None:
        """The unacknowledged alarm that a metaAlarm is about."""
        if type(self.text) is Compound and self.text.name == "unack":
            return as_compound(self.text.args[0])
        return None


_FIELDS = ("kind", "time", "informer", "status", "text")


def read_alarm(term: Term) -> Alarm | None:
    """An alarm's parts, or `None` for anything else.

    >>> a = t.alarm(t.kind("fire"), t.time(9), t.informer("lea@w"), t.status("layman"), t.text("x"))
    >>> read_alarm(a).informer
    'lea@w'
    >>> read_alarm(t.alarm(t.kind("fire"), t.text("x"))) is None
    True
    """
    if type(term) is not Compound or term.name != "alarm" or len(term.args) != 5:
        return None
    values: list[Any] = []
    for part, name in zip(term.args, _FIELDS, strict=True):
        if type(part) is not Compound or part.name != name or len(part.args) != 1:
            return None
        values.append(part.args[0])
    kind, time, informer, status, text = values
    return Alarm(kind, time, informer, status, text, term)


def carried(message: Term, name: str) -> Alarm | None:
    """The alarm in `notify(A)`, `publish(A)` or `ack(A)`, whichever `name` says."""
    if type(message) is Compound and message.name == name and len(message.args) == 1:
        return read_alarm(message.args[0])
    return None


def publish(kind: str, text: Term) -> Compound:
    """A publication as an informer sends it; the law completes it."""
    return Compound("publish", (t.alarm(t.kind(kind), t.text(text)),))


def subscribe(*criteria: Term) -> Compound:
    """A subscription to alarms with exactly these attributes."""
    return Compound("subscribe", (t.alarm(criteria),))


def fits(criteria: tuple[Term, ...], alarm: Alarm) -> bool:
    """Exact matching: every criterion is an attribute of the alarm.

    >>> a = t.alarm(t.kind("fire"), t.time(9), t.informer("lea@w"), t.status("layman"), t.text("x"))
    >>> fits((t.kind("fire"),), read_alarm(a)), fits((t.status("expert"),), read_alarm(a))
    (True, False)
    """
    return all(criterion in alarm.term.args for criterion in criteria)


def depth(alarm: Alarm) -> int:
    """How many metaAlarms are nested: 0 for an alarm about the world itself."""
    levels = 0
    inner: Alarm | None = alarm
    while inner is not None and inner.kind == META:
        levels += 1
        inner = read_alarm(inner.about) if inner.about is not None else None
    return levels
