"""A world that knows who its people are."""

from __future__ import annotations

from nomospace.law import CompiledLaw
from nomospace.terms import Term, t
from nomospace_lab.apps.hospital.people import HospitalMember, Person, program
from nomospace_lab.sim.network import Link
from nomospace_lab.sim.world import World


class Hospital(World):
    """A world of members under law AP, with the roles that admin certified."""

    def __init__(self, seed: int, law: CompiledLaw, *, link: Link | None = None) -> None:
        super().__init__(seed, link=link)
        self.law = law
        self.people: dict[str, Person] = {}

    @property
    def mediators(self) -> tuple[str, ...]:
        """The certified mediators."""
        return tuple([id for id, person in self.people.items() if person.mediates])

    @property
    def manager(self) -> str:
        """The certified facility manager."""
        return next(id for id, person in self.people.items() if "facilityManager" in person.roles)

    def enter(
        self,
        id: str,
        kind: type[HospitalMember],
        *,
        roles: tuple[Term, ...] = (),
        listens_to: tuple[str, ...] = (),
    ) -> None:
        """A member comes in, with a certificate of admin for each role. Mediators come first."""
        person = self.people[id] = Person(id, roles, listens_to)
        certificates = [self.issue("admin", id, t.role(role)) for role in roles]
        manager = next((p.id for p in self.people.values() if "facilityManager" in p.roles), "")
        self.join(id, self.law, program(kind, person, certificates, self.mediators, manager))
