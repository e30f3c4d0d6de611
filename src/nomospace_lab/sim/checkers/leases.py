"""Leases hold: what is lent is its taker's until the end, and not after.

As the other checkers, this one knows of each call only when it was asked and when it was answered,
and says no where nothing in between allows what was seen. Crashes and moves change nothing: a lease
outlives both.
"""

from __future__ import annotations

from nomospace.calls.problems import InDoubt, LeaseLapsed
from nomospace.calls.requests import Seek, Settle
from nomospace.host.shares import USUAL_SHARES
from nomospace_lab.sim.checkers import Verdict, no, yes
from nomospace_lab.sim.checkers.facts import NEVER, CallHistory, Fields, HistoryFacts, facts_of
from nomospace_lab.sim.checkers.spaces import SLACK_US
from nomospace_lab.sim.federation import Sites

_AWAY_US = USUAL_SHARES.lease_word_s * 1_000_000


class LeaseLife:
    """What is certain of one lease: until when it runs at least, and at most."""

    def __init__(self, lend: CallHistory) -> None:
        request = lend.request
        assert isinstance(request, Seek), "only these lend"
        self.lend = lend
        self.least = lend.began + request.lease_us - SLACK_US
        self.most = lend.end + request.lease_us + SLACK_US
        self.away = 0
        """Until then at least nobody finds the tuple that was given back."""

    def told(self, op: CallHistory) -> str:
        """Take in a word on it, in their order; what is wrong with that, or nothing."""
        word = op.request
        assert isinstance(word, Settle), "nothing else names a lease"
        error = None if op.ended is None else op.ended.what.error
        lapsed = isinstance(error, LeaseLapsed)
        if isinstance(error, InDoubt) and op.end - op.began < _AWAY_US:
            return "a word on it was in doubt, and nobody had waited for its host"
        if op.done and op.began > self.most:
            return "a word on it counted after its end"
        # At its own host, and elsewhere unless the answer came only after a wait for that host.
        told = op.call.host == word.lease.partition("/")[0] or op.end - op.began < _AWAY_US
        if lapsed and told and self.lend.end < op.began and op.end < self.least:
            return "it was lost before its end"
        if lapsed:
            return ""
        if word.renew_us:
            ends = op.began + word.renew_us - SLACK_US
            self.least = ends if op.done else min(self.least, ends)
            self.most = max(self.most, min(op.end, NEVER) + word.renew_us + SLACK_US)
        else:
            self.least = min(self.least, op.began)
            if op.done and word.delay_us:
                self.away = op.began + word.delay_us - SLACK_US
        return ""


def leases_hold(world: Sites) -> Verdict:
    """A lease is never given to two, never lost before its end, and never outlives it."""
    name = "a lease is never given to two, never lost, never outlives its end"
    facts = facts_of(world)
    words: dict[str, list[CallHistory]] = {}
    for op in facts.ops.values():
        if isinstance(op.request, Settle):
            words.setdefault(op.request.lease, []).append(op)
    cases = 0
    for lease, (lend, found) in facts.leases.items():
        life = LeaseLife(lend)
        proof = lend.proof
        for op in words.get(lease, ()):
            cases += 1
            proof = (*proof, *op.proof)
            wrong = life.told(op)
            if wrong:
                return no(name, wrong, *proof)
        rival = _rival(facts, life, found.fields, words.get(lease, []))
        if rival is not None:
            return no(name, f"{rival.agent} got what was lent or kept back", *proof, *rival.proof)
    return yes(name, cases)


def _rival(
    facts: HistoryFacts, life: LeaseLife, fields: Fields, words: list[CallHistory]
) -> CallHistory | None:
    """Another call that got the tuple while nobody could."""
    written = facts.tuples[fields]
    spans = [(life.lend.end, life.least)]
    if life.away:
        spans.append((words[-1].end, life.away))
    for op in (*written.takes, *written.lends, *written.reads):
        if op is not life.lend and any(a < op.began and op.end < b for a, b in spans):
            return op
    return None
