"""The handover: an agent leaves one host with all that is its own and goes on at another.

    origin                                        destination
    ------ MayCome: who, under which laws ------>  room for it? its laws known and sound?
    <----- Welcome / Unwelcome ------------------
    the server of its domain lets it go (routing: Migrating, MayGo), its mail queues there
    ------ Coming: the agent, all of it -------->  placed here, its mail follows; or sent back
    <----- There / Back -------------------------

Everything goes by courier, so it arrives exactly once. The step that packs an agent and hands the
parcel over is one `Persist`, and so is the step that places it: through crashes at any moment the
agent is at the origin, in the parcel, or at the destination, and in no two of them. It runs in
neither while it is in the parcel, and in exactly one place once both hosts and the link are there.

Until it is packed the agent goes on where it is, and a destination that is silent for `ASK_US` has
declined. The destination looks again when the agent comes, and may still refuse: then all of it
comes back, and the agent goes on where it was.

An agent that runs a program is handed over with the name and the state of that, which are durable
with the agent: whoever drives a host that starts again begins its programs again (`Host.programs`).
What is delivered to such an agent while it is about to leave waits here, and goes along; what the
program waits for, and its reactions, end with it, as in a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from nomospace.calls.problems import Cancelled, HasEnded, MoveRefused, NoProgram
from nomospace.calls.requests import CLIENT_PROGRAM, Launch, LawText, Move, Save, Unread
from nomospace.errors import NomospaceError
from nomospace.host.calls import Bundle
from nomospace.host.changes import Durable, ProgramKept, StateKept
from nomospace.host.effects import Came, Left, Mail
from nomospace.host.part import HostPart
from nomospace.host.residents import Resident
from nomospace.host.shares import TooManyMoved
from nomospace.host.writing import WRITTEN_ONCE
from nomospace.law import load
from nomospace.protocols.courier import Parcel
from nomospace.protocols.routing.interface import UNSETTLED, Go
from nomospace.protocols.routing.seats import Seat
from nomospace.terms.values import count_parts

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

ASK_US: Final = 10_000_000
"""How long an agent waits for a word of the host that it would move to."""
MOVING_MAX: Final = 10_000
"""How many agents of a host may be about to leave."""
PARTS_EACH: Final = 10
"""A tuple of more parts counts as several when its agent moves."""
KEYS_EACH: Final = 10
"""So many keys of `out(…, once=key)` count as one tuple then: they are small."""
MAIL_MAX: Final = 10_000
"""How many messages may wait for an agent that is about to leave; past it the newest are lost."""


class MayCome(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="may-come"):
    """An agent would come: the laws it is under, the program it runs, and that program's code."""

    key: int
    agent: str
    laws: tuple[LawText, ...]
    program: str = ""
    code: Any = None


class Welcome(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="welcome"):
    """It may; nothing is promised, the agent will be looked at again."""

    key: int


class Unwelcome(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="unwelcome"):
    """It may not."""

    key: int
    why: str


class Coming(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="coming"):
    """The agent, all of it."""

    agent: str
    laws: tuple[LawText, ...]
    bundle: Bundle
    seat: Seat
    ticket: str
    program: str
    state: Any
    code: Any
    unread: tuple[Unread, ...] = ()
    mail: tuple[Unread, ...] = ()


class There(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="there"):
    """The agent that came with a ticket has been placed."""

    agent: str
    ticket: str


class Back(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="back"):
    """The agent was not taken; here it is again."""

    coming: Coming
    why: str


class Asking:
    """An agent that would move and is still here."""

    __slots__ = ("key", "mail", "op", "request", "to", "until")

    def __init__(self, key: int, op: int, request: Move, until: int) -> None:
        self.key = key
        self.op = op
        self.to = request.to
        self.request = request
        self.until = until  # 0 once the destination has said yes
        self.mail: list[Mail] = []  # delivered, and not yet told


class Moving(HostPart):
    """The agents of one host that come and go."""

    def __init__(self, host: HostParts, durable: Durable) -> None:
        super().__init__(host)
        self.programs = dict(durable.programs)
        self._asking: dict[str, Asking] = {}
        self.timed = self._asking
        self._keys: dict[int, str] = {}  # the agents that ask, by the keys they ask under
        self._away: dict[str, int] = {}  # the calls of those who left, until their arrival is known
        self._next = 1

    # -- programs --------------------------------------------------------------------------

    def launch(self, op: int, resident: Resident, request: Launch) -> None:
        """Note what an agent runs from now on."""
        kept = ProgramKept(resident.id, request.program, request.state, request.code)
        self._keep(kept)
        self._step.answer(op)

    def save(self, op: int, resident: Resident, request: Save) -> None:
        """Note another state of what an agent runs."""
        kept = self.programs.get(resident.id)
        if kept is None:
            raise NoProgram(agent=resident.id)
        self.programs[resident.id] = msgspec.structs.replace(kept, state=request.state)
        self._step.write_down(StateKept(resident.id, request.state))
        self._step.answer(op)

    def _keep(self, kept: ProgramKept) -> None:
        if kept.program:
            self.programs[kept.agent] = kept
        elif self.programs.pop(kept.agent, None) is None:
            return
        self._step.write_down(kept)

    def deliver(self, mail: Mail) -> None:
        """Tell an agent of a message; a program that is about to leave takes it along unread.

        One that is elsewhere is told at once: its host keeps what it has not seen, through a crash
        too.
        """
        one = self._asking.get(mail.agent)
        if one is None or one.request.program in ("", CLIENT_PROGRAM):
            self._step.order(mail)
        elif len(one.mail) < MAIL_MAX:
            one.mail.append(mail)
        else:
            self._step.note("mail-lost", agent=mail.agent, law=mail.law, limit=MAIL_MAX)

    # -- leaving ---------------------------------------------------------------------------

    def move(self, op: int, resident: Resident, request: Move) -> None:
        """An agent would go on at another host. It is answered only if it stays."""
        host, agent = self._host, resident.id
        if request.to == self._step.name:
            self._step.answer(op)
            return
        if suspended := host.suspending.stays(agent):
            raise suspended
        if resident.ending:
            raise HasEnded(agent=agent)
        if heavy := self._overweight(agent):
            raise heavy
        if why := host.deciding.stays(agent) or host.holding.stays(agent):
            raise MoveRefused(agent=agent, to=request.to, why=why)
        if agent in self._asking:
            raise MoveRefused(agent=agent, to=request.to, why="it is about to move already")
        if len(self._asking) >= MOVING_MAX:
            raise MoveRefused(agent=agent, to=request.to, why="too many agents are leaving")
        for law in host.governing.laws_over(agent):  # its states there are for its own eyes only
            if doubt := host.group.distrust(request.to, law):
                raise MoveRefused(agent=agent, to=request.to, why=doubt.why)
        key = (self._step.life << 32) + self._next
        laws = host.governing.laws_of(agent)
        may_come = MayCome(key, agent, laws, request.program, request.code)
        if why := host.carries(Parcel(0, may_come)):
            raise MoveRefused(agent=agent, to=request.to, why=why)
        self._next += 1
        until = self._step.now + ASK_US
        self._asking[agent] = Asking(key, op, request, until)
        self._keys[key] = agent
        host.posting.parcel(request.to, may_come)

    def _overweight(self, agent: str) -> TooManyMoved | None:
        """Whether an agent has more than one step can pack here, and another unpack there."""
        limit = self._step.shares.moved_tuples
        left = KEYS_EACH * (limit - self._host.seeking.count(agent))
        for name, interface in self._spaces.residents[agent].spaces.items():
            if left < 0:
                break
            keys = name.endswith(WRITTEN_ONCE)
            most = 1 + (left if keys else left // KEYS_EACH)
            for record in self._spaces.space_of(interface).held_by(agent, most):
                parts = count_parts(record.fields, PARTS_EACH * limit) // PARTS_EACH
                left -= 1 if keys and not parts else KEYS_EACH * (1 + parts)
                if left < 0:
                    break
        if left >= 0:
            return None
        return TooManyMoved(
            what=f"the number of tuples and waiting calls that {agent} would move with",
            limit=limit,
            advice="take some of them, write them for another agent, or have the operator of the "
            "host raise moved_tuples",
        )

    def _of(self, key: int) -> tuple[str, Asking] | None:
        agent = self._keys.get(key)
        return None if agent is None else (agent, self._asking[agent])

    def _forget(self, agent: str) -> Asking:
        one = self._asking.pop(agent)
        del self._keys[one.key]
        return one

    def _stays(self, agent: str, why: str) -> None:
        self._keep_here(agent, MoveRefused(agent=agent, to=self._asking[agent].to, why=why))

    def _keep_here(self, agent: str, error: NomospaceError) -> None:
        """An agent does not leave; it is told what it was to take along."""
        one = self._forget(agent)
        for mail in one.mail:
            self._step.order(mail)
        self._step.fail(one.op, error)

    def end(self, agent: str, why: str) -> None:
        """An agent ends: it runs nothing any more, and goes nowhere."""
        self.programs.pop(agent, None)
        if agent in self._asking:
            self._stays(agent, why)

    def cancel(self, agent: str, op: int) -> bool:
        """Stay, if the destination has not said yes so far; false when it is too late for that."""
        one = self._asking.get(agent)
        if one is None or one.op != op or not one.until:
            return False
        self._keep_here(agent, Cancelled())
        return True

    def go(self, effect: Go) -> None:
        """The server lets an agent go: pack it, and hand it to the courier, in this step."""
        host, agent = self._host, effect.agent
        one = self._asking.get(agent)
        if one is None or one.until or one.to != effect.site:
            host.posting.stay(agent)  # it was asked for in an earlier life
            return
        if (
            why := host.suspending.stays(agent)  # since it was welcome there
            or host.deciding.stays(agent)
            or host.holding.stays(agent)
            or self._overweight(agent)
        ):
            host.posting.stay(agent)
            self._stays(agent, str(why))
            return
        self._forget(agent)
        asked = one.request
        if asked.program:
            host.seeking.end(agent)
            host.governed.end(agent)
        laws = host.governing.laws_of(agent)
        bundle = host.holding.pack(agent)
        if asked.program:
            bundle = msgspec.structs.replace(bundle, reactions=())
        self.programs.pop(agent, None)
        self._away[agent] = 0 if asked.program else one.op
        self._step.order(Left(agent, effect.site, effect.seat.epoch))
        coming = Coming(
            agent,
            laws,
            bundle,
            effect.seat,
            effect.ticket,
            asked.program,
            asked.state,
            asked.code,
            asked.mail,
            tuple([Unread(mail.law, mail.sender, mail.message) for mail in one.mail]),
        )
        if why := host.carries(Parcel(0, coming)):  # it would be tried for ever
            self._goes_back(coming, effect.site, why)
            return
        host.posting.parcel(effect.site, coming)

    def refused(self, agent: str, why: str) -> None:
        """The server does not let an agent go, or does not have it."""
        one = self._asking.get(agent)
        if one is not None and why == UNSETTLED:
            return  # it leaves when its last move is known everywhere: `settled`
        if one is not None and not one.until:
            self._stays(agent, why)
        else:
            self._step.note("unroutable", agent=agent, why=why)

    def settled(self, agent: str) -> None:
        """An agent's place is known everywhere; it may move again."""
        one = self._asking.get(agent)
        if one is not None and not one.until:
            self._host.posting.depart(agent, one.to)

    def tick(self) -> None:
        """A destination that is silent for too long has declined."""
        now = self._step.now
        for agent, one in list(self._asking.items()):
            if one.until and one.until <= now:
                self._stays(agent, f"no word from {one.to} within {ASK_US // 1_000_000} s")

    def next_deadline(self) -> int | None:
        """When the patience of an agent that would move ends."""
        return min([one.until for one in self._asking.values() if one.until], default=None)

    # -- what comes by courier -------------------------------------------------------------

    def hear(self, peer: str, what: object) -> bool:
        """Take what is part of a handover; false for all else."""
        hear = _HEAR.get(what.__class__)
        if hear is not None:
            hear(self, peer, what)
        return hear is not None

    def _hear_may_come(self, peer: str, body: MayCome) -> None:
        why = self._objection(peer, body)
        reply = Unwelcome(body.key, why) if why else Welcome(body.key)
        self._host.posting.parcel(peer, reply)

    def _objection(self, peer: str, body: MayCome | Coming) -> str:
        """Why an agent may not come here from a host; empty when it may."""
        host = self._host
        if body.agent in self._spaces.residents:
            return "an agent of that name is here"
        for named in ("", *[text.hash for text in body.laws]):
            if suspended := host.suspending.refusal(body.agent, named):
                return str(suspended)
        if why := host.laws.objection(body.laws):
            return why
        for text in body.laws:
            law = host.laws.get(text.hash) or load(text.text, text.name)
            if doubt := host.group.distrust(peer, law):
                facts = {"law": law.hash, "code": doubt.reason, "why": doubt.why}
                self._step.note("not-authentic", peer=peer, agent=body.agent, **facts)
                return doubt.why
        return host.admits(body.agent, body.program, body.code)

    def _hear_welcome(self, peer: str, body: Welcome) -> None:
        found = self._of(body.key)
        if found is not None and found[1].to == peer:
            agent, one = found
            if suspended := self._host.suspending.stays(agent):
                self._stays(agent, str(suspended))
                return
            one.until = 0
            self._host.posting.depart(agent, one.to)

    def _hear_unwelcome(self, peer: str, body: Unwelcome) -> None:
        found = self._of(body.key)
        if found is not None and found[1].to == peer:
            self._stays(found[0], body.why)

    def _hear_coming(self, peer: str, body: Coming) -> None:
        """Place an agent, with the note that it came, in one step; or send it back."""
        host = self._host
        why = self._objection(peer, body) or self._host.speaking.objection(body.bundle)
        if body.program and not why:
            why = host.reads(body.program, body.code, body.state)
        if why:
            host.posting.parcel(peer, Back(body, why))
            return
        host.laws.learn(body.laws)
        # It has a seat before its laws rule on the move, which may send; its mail comes after.
        host.posting.arrive(body.agent, body.seat, body.ticket)
        self._place(body, peer, None)
        host.posting.parcel(peer, There(body.agent, body.ticket))

    def _place(self, body: Coming, peer: str, error: MoveRefused | None) -> None:
        """Let an agent and its program go on here; what came for it meanwhile is told after."""
        host, agent = self._host, body.agent
        why = error.why if error is not None else ""
        self._keep(ProgramKept(agent, body.program, body.state, body.code, peer, why))
        # Laws rule on the move as it is unpacked, and may deliver: whom that is for comes before.
        came = (body.program, body.state, body.code, error, body.unread, body.seat.epoch)
        self._step.order(Came(agent, peer, *came))
        for one in body.mail:
            self._step.order(Mail(agent, one.law, one.sender, one.message))
        host.holding.unpack(agent, body.bundle)

    def _hear_there(self, peer: str, body: There) -> None:
        self._away.pop(body.agent, None)
        self._host.posting.gone(body.agent, body.ticket)

    def _hear_back(self, peer: str, body: Back) -> None:
        """The agent goes on where it was, and learns why."""
        host, coming = self._host, body.coming
        if not host.posting.left_for(coming.agent, peer, coming.ticket):
            self._step.note("not-sent-there", peer=peer, agent=coming.agent)
            return
        self._goes_back(coming, peer, body.why)

    def _goes_back(self, coming: Coming, peer: str, why: str) -> None:
        """Unpack an agent that had left for a host, where it was."""
        host = self._host
        op = self._away.pop(coming.agent, 0)
        error = MoveRefused(agent=coming.agent, to=peer, why=why)
        self._place(coming, peer, error)
        host.posting.stay(coming.agent)
        self._step.fail(op, error)


_HEAR: Final[dict[type, Any]] = {
    MayCome: Moving._hear_may_come,
    Welcome: Moving._hear_welcome,
    Unwelcome: Moving._hear_unwelcome,
    Coming: Moving._hear_coming,
    There: Moving._hear_there,
    Back: Moving._hear_back,
}
