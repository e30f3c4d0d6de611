"""Certificates that agents present: checked here, told to their laws, and watched until they end.

A certificate counts for a membership when an authority that the law names has signed it, it is in
time and it is not revoked (`001_…` 3.3). Its law hears `certified`; a certificate that does not
check out is an `exception` for the law and an error for who presented it. When one runs out or is
revoked, the law hears `revoked`, once.

What a member has shown is part of the membership: it is kept with it, it moves with it, and the
host that an agent comes to checks it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomospace.calls.requests import Show
from nomospace.control import Event, Membership, Ruling, tell
from nomospace.host.calls import RevocationsLearnt
from nomospace.host.changes import MemberJoined
from nomospace.host.part import HostPart
from nomospace.host.residents import Resident
from nomospace.law import CompiledLaw
from nomospace.terms import Compound
from nomospace.trust.certificates import BadCertificate, UncheckedCertificate, read_claim
from nomospace.trust.presented import Accepted, Presented, claimed, reason_of
from nomospace.trust.revocation import Revocations

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts


class Certifying(HostPart):
    """The certificates of one host's members."""

    def __init__(self, host: HostParts, revocations: Revocations) -> None:
        super().__init__(host)
        self._presented = Presented(revocations)
        self.timed = False
        """Whether any was shown, or will be: until then there is none to run out."""
        self._late: list[tuple[Membership, bytes]] = []
        """Certificates that ended while nobody could be told: with their host down, or on a way."""

    def show(self, op: int, resident: Resident, request: Show) -> None:
        """A member presents a certificate; told what it may know of the ruling on it.

        Raises what is wrong with the certificate, after its law has ruled on that.
        """
        host = self._host
        member = host.governing.member(resident.id, request.law)
        home = (member.home, member.law.hash)
        shown: bytes | UncheckedCertificate = request.certificate
        self.timed = True
        try:
            shown = read_claim(request.certificate)  # once, also for what is told of it
            accepted = self._presented.present(
                *home, shown, _authorities(member.law), now=self._step.now
            )
        except BadCertificate as error:
            operation = Compound("certify", (claimed(shown),))
            host.governing.rule(member, Event("exception", (operation, reason_of(error))))
            host.governing.drain()
            self._step.note("bad-certificate", agent=home[0], law=home[1], why=str(error))
            raise
        self._keep(member)

        def ruled(ruling: Ruling) -> None:
            told = tell(member, ruling)
            host.governing.drain()
            self._step.answer(op, told)

        host.governing.ask(member, Event("certified", (accepted.term,)), op, ruled)

    def _keep(self, member: Membership) -> None:
        """Have on disk what a member has shown, as part of its membership."""
        held = self._presented.held(member.home, member.law.hash)
        member.shown = tuple([one.certificate for one in held])
        self._step.write_down(MemberJoined(member.snapshot()))

    def take_up(self, member: Membership) -> None:
        """A member comes back, or comes from elsewhere: what it has shown is checked again."""
        _host, law = self._host, member.law
        for certificate in member.shown:
            self.timed = True
            try:
                self._presented.present(
                    member.home, law.hash, certificate, _authorities(law), now=self._step.now
                )
            except BadCertificate:
                self._late.append((member, certificate))

    def forget(self, agent: str, law: str) -> None:
        """A membership has gone, or ended."""
        self._presented.forget(agent, law)

    def learn(self, event: RevocationsLearnt) -> None:
        """Certificates were revoked: those that count here do so no longer."""
        self._end(self._presented.revoke(event.revoked))

    def next_deadline(self) -> int | None:
        """When the next certificate runs out."""
        return self._step.now if self._late else self._presented.next_deadline()

    def tick(self) -> None:
        """Let certificates run out."""
        late, self._late = self._late, []
        for member, certificate in late:
            self._host.governing.rule(member, Event("revoked", (claimed(certificate),)))
            self._keep(member)
        self._end(self._presented.expire(now=self._step.now))
        if late:
            self._host.governing.drain()

    def _end(self, ended: list[Accepted]) -> None:
        governing = self._host.governing
        for one in ended:
            member = governing.find(one.agent, one.law)
            if member is not None:
                governing.rule(member, Event("revoked", (one.term,)))
                self._keep(member)
        if ended:
            governing.drain()


def _authorities(law: CompiledLaw) -> dict[str, str]:
    """Whose certificates count under a law: names and keys, the first key of a name."""
    return {one.name: one.key for one in reversed(law.tree.authorities)}
