"""Opening spaces: what an agent names must fit what the space is on this host, and in its group.

A space is tied to its law, to the ontology that it speaks and to how it is partitioned. Whoever
opens it without naming the last two has what it has here; or, where nobody here shares it, the
partition that it has at engaged hosts.
"""

from __future__ import annotations

from nomospace.calls import problems
from nomospace.calls.addresses import check_name
from nomospace.calls.partition import OtherPartition, PartitionKey, tied, untied
from nomospace.calls.requests import Open
from nomospace.calls.ways import DEAD
from nomospace.host.directory import Tie
from nomospace.host.part import HostPart
from nomospace.host.residents import ENGINES, STORE, SYSTEM, Interface, Level, Resident
from nomospace.host.shares import TooManySpaces
from nomospace.host.speaking import OtherOntology


class SpaceOpening(HostPart):
    """The interface spaces that agents of one host ask for."""

    def open_for(self, op: int, resident: Resident, request: Open) -> None:
        """Open a space for a call."""
        self.open(resident, request)
        self._step.answer(op)

    def open(self, resident: Resident, request: Open) -> None:
        """Give an agent a private interface space; opening it again is harmless."""
        name = request.space
        if name == SYSTEM:
            return
        law = request.law.hash if request.law is not None else ""
        if request.law is not None:
            self._host.governing.admit(resident.id, name, request.law)
        known = resident.spaces.get(name)
        if known is not None and known.law != law:
            raise problems.OtherLaw(space=name, law=known.law, given=law)
        level = self._spaces.levels.get(name)
        here = known or (level if level is not None and level.sharers else None)
        spoken, parted_by = untied(here.ontology) if here is not None else ("", "")
        if request.ontology is not None:
            spoken = self._host.speaking.admit(request.ontology)
        if request.partition:
            parted_by = PartitionKey.read(request.partition).text
        if here is None:
            parted_by = self._agreed(name, law, spoken, parted_by)
        tie = law, tied(spoken, parted_by)
        if here is not None:
            check_tie(name, here.tie, tie)
        engine = self._engine_for(name, here, request)
        if known is not None:
            return
        check_name("a space", name)
        if engine and parted_by:
            why = "what is partitioned lies in the memory of its homes; name the engine memory"
            raise problems.OtherEngine(space=name, given=engine, why=why)
        if len(resident.spaces) >= self._step.shares.agent_spaces:
            raise TooManySpaces(
                what=f"the number of spaces of {resident.id} at this host",
                limit=self._step.shares.agent_spaces,
                advice="tell apart by a field of its tuples what is in one space, or have the "
                "operator of the host raise agent_spaces",
            )
        # A tuple that dies stays under its law.
        twin = resident.spaces.get(name.removesuffix(DEAD) if name.endswith(DEAD) else name + DEAD)
        if twin is not None and twin.law != law:
            raise problems.OtherLaw(space=name, law=twin.law, given=law)
        holding = self._host.holding
        holding.make_interface(resident, name, tie, durable=request.durable, engine=engine)
        if engine:
            holding.share(resident, (name,), shared=True)

    def _agreed(self, name: str, law: str, ontology: str, given: str) -> str:
        """The partition that a space is to have, if engaged hosts share it as this one is to.

        Raises `OtherPartition` where one of them has it otherwise. Of two groups that find so when
        they meet, each keeps its own, as with laws.
        """
        for peer, lines in self._host.group.entries.items():
            there = lines.tie(name)
            if there is None or there[0] != law:
                continue
            spoken, partition = untied(there[1])
            if spoken == ontology:
                given = given or partition
                if partition != given:
                    where = f"at host {peer}"
                    raise OtherPartition(space=name, partition=partition, given=given, where=where)
        return given

    def _engine_for(self, name: str, here: Interface | Level | None, request: Open) -> str:
        """The engine that a space is to have: the one asked for, or the one it has here."""
        given = request.engine
        if given and given not in ENGINES:
            raise problems.OtherEngine(
                space=name, given=given, why=f"use one of {', '.join(ENGINES)}"
            )
        named = not given and name in self._step.engine.names
        wanted = STORE if given == STORE or named else ""
        if here is None:
            engine = wanted
        else:
            engine = here.engine
            if given and wanted != engine:
                why = f"here it has the engine {engine or ENGINES[0]!r}; use another name"
                raise problems.OtherEngine(space=name, given=given, why=why)
        if engine and not request.durable:
            why = "what lies in the store is durable; leave out durable=False"
            raise problems.OtherEngine(space=name, given=engine, why=why)
        return engine


def check_tie(name: str, here: Tie, given: Tie) -> None:
    """Raise what is different about a space."""
    if here[0] != given[0]:
        raise problems.OtherLaw(space=name, law=here[0], given=given[0])
    if here[1] != given[1]:
        (ontology, partition), (other, wanted) = untied(here[1]), untied(given[1])
        if ontology != other:
            raise OtherOntology(space=name, ontology=ontology, given=other)
        raise OtherPartition(space=name, partition=partition, given=wanted)
