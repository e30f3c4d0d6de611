"""Answers to operations with tuples of this host: read, taken or lent, under law or without."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nomospace.calls.answers import Found
from nomospace.calls.requests import BULK, WAITING
from nomospace.host.effects import TAKEN
from nomospace.host.operations import Op, chosen, found_of, gathered_of
from nomospace.host.part import HostPart
from nomospace.host.residents import SYSTEM
from nomospace.space import Gathering, Record, Space


class LocalAnswers(HostPart):
    """The answers of one host to operations of its agents."""

    def serve(
        self,
        one: Op,
        space: Space,
        records: list[Record],
        sets: Sequence[Gathering] = (),
    ) -> bool:
        """Answer an operation with tuples of this host, or sets of them; false if a law keeps them.

        What is taken leaves in this step: all tuples of a set, or none of them.
        """
        host, seek = self._host, one.seek
        if one.law and host.governing.find(one.agent, one.law) is None:
            return False  # it has quit its community: nobody there could be given the tuple
        founds = tuple([self.found(one, record) for record in records])
        pairs = chosen(space, records, sets, takes=one.takes)
        founds += tuple([gathered_of(*pair) for pair in pairs])
        ruled = host.governed.release(one, founds) if one.law else None
        if ruled is not None and ruled.message is None:
            if seek.how not in WAITING:
                host.governed.keep(one, ruled)
            return False
        if one.takes:
            if seek.lease_us:
                lend = partial(host.lending.lend, seek.space, space)
                us, agent = seek.lease_us, one.agent
                founds = (
                    *[self.found(one, r, lend((r,), us, agent)) for r in records],
                    *[gathered_of(g, its, lend(its, us, agent, g.fields)) for g, its in pairs],
                )
            else:
                for record in [*records, *[record for _, its in pairs for record in its]]:
                    space.took(record, self._step.now)
                    space.remove(record)
                    self._step.forget(seek.space, record)
                    self._step.trace(TAKEN, seek.space, record, one.agent)
        if ruled is not None:
            host.governed.deliver(one, ruled.message, founds, ruled.ruling.seq)
        elif seek.how in BULK:
            self._step.answer(one.op, founds)
        else:
            self._step.answer(one.op, founds[0])
        return True

    def found(self, one: Op, record: Record, lease: str = "") -> Found:
        """A tuple as its finder gets it, with how it answers where that needs words."""
        if not one.seek.template.meant:
            return found_of(record, lease)
        return found_of(record, lease, self._explained(one, record))

    def _explained(self, one: Op, record: Record) -> str:
        """How a tuple answers: by this host's reading, which is that of every host that shares."""
        seek = one.seek
        if seek.space == SYSTEM:
            return self._host.system.why(seek.template, record.fields)
        interface = self._spaces.interface(one.agent, seek.space)
        return "" if interface is None else interface.private.why(seek.template, record.fields)

    def nothing(self, one: Op) -> None:
        """There is no match where an operation that does not wait has looked."""
        if one.law:
            self._host.governed.nothing(one)
        else:
            self._step.answer(one.op, () if one.seek.how in BULK else None)
