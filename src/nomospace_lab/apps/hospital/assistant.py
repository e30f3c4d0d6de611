"""A nurse's assistant, which goes from ward to ward while messages follow it (`003_…`, section 2).

It is a program: its agent moves with its spaces, its memberships and its unread mail. Its law is
small. Anybody may write to an assistant; only the nurse that it serves may send it anywhere. The
first message after a move goes to where its sender's host last knew the assistant to be and from
there after it; the host learns of the new place, and the next one goes there directly.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from nomospace.client import Membership, Program, program
from nomospace.errors import Unavailable
from nomospace.law import CompiledLaw, load
from nomospace.terms import Compound, Term, t

PROGRAM: Final = "ward-assistant"
NOTE: Final = "note"
GO: Final = "go"
LAW: Final = """\
law(assistants).
initialCS([]).

R1. adopted(Args) :- (member(serves(N), Args) -> do(+serves(N)) ; true).
    % An assistant says whom it serves when it comes.

R2. sent(_, note(_, _), _) :- do(forward).
R3. arrived(_, note(_, _), _) :- do(deliver).
    % Anybody may write to anybody,

R4. sent(_, got(_), _) :- do(forward).
R5. arrived(_, got(_), _) :- do(deliver).
    % and is told that it was read.

R6. sent(_, go(_), _) :- do(forward).
R7. arrived(N, go(_), _) :- serves(N)@CS, do(deliver).
    % Only the nurse whom it serves sends an assistant anywhere: whoever else tries is not heard.

R8. moved(From, To) :- do(deliver(Self, moved(From, To), Self)).
    % The law goes along, with all that it knows.
"""


@cache
def law_of_assistants() -> CompiledLaw:
    """The law that assistants and nurses are under."""
    return load(LAW, "assistants.law")


def note(number: int, text: str) -> Compound:
    """A message to an assistant."""
    return Compound(NOTE, (number, text))


def go(ward: str) -> Compound:
    """The order to go to a ward."""
    return Compound(GO, (ward,))


class Assisting(msgspec.Struct):
    """What an assistant carries along: whom it serves, and how many notes it has read."""

    nurse: str
    notes: int = 0


@program(PROGRAM)
class WardAssistant(Program[Assisting]):
    """Reads notes and says so; goes where its nurse sends it."""

    async def run(self) -> None:
        """From the top in every ward; nothing but the state tells one from another."""
        member = await self.agent.adopt(law_of_assistants(), t.serves(self.state.nurse))
        async for letter in member.inbox():
            await self._take_in(member, letter.sender, letter.message)

    async def _take_in(self, member: Membership, sender: str, message: Term) -> None:
        if type(message) is not Compound:
            return
        if message.name == NOTE:
            self.state.notes += 1
            await member.send(t.got(message.args[0]), to=sender)
        elif message.name == GO:
            try:
                await self.move(str(message.args[0]))
            except Unavailable:  # the ward does not answer: it stays, and who sent it sees that
                return
