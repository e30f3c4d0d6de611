"""What a host and a program in a process of its own say to each other, over two private sockets.

Over the first go frames in both directions, each an agent and a body. With an agent the body is a
call of it, or what the host has for it, as clients have them (`wire.talk`); without one it is a
word of this module:

    host                                    program's process
    Birth: who, which program, its code ->
                                         <- Born, or Unborn and the end
    Begin ->                                `run` begins
                                         <- Strong, Attend, CreateHelper, Said
    HelperCreated ->
    Gone ->                                 an agent of it is elsewhere now
    StopProgram ->                          it is to end
                                         <- Over, or Raised, and the end
    PingProgram ->
                                         <- ProgramAlive

The second is for strong reactions and functions alone. The host says `FireListener` or `Apply` and
waits, inside its step; the program asks for operations of the step (`InsideCall`, as clients' calls
are) until it says `Done`. Both ends are this installation, so neither has a version.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

import msgspec

from nomospace.calls.ways import Mode
from nomospace.wire.errors import Fault
from nomospace.wire.framing import BadFrame, length_of

T = TypeVar("T")

BIRTH_S: Final = 20.0
"""How long a program may take to be born: to start a process and to import its code."""
STOP_S: Final = 3.0
"""How long a program that is to end has for it."""
SILENT_S: Final = 30.0
"""A program that says nothing for so long is ended: its code holds its loop."""
FRAME_BYTES_MAX: Final = 8 << 20
"""The largest frame between the two."""


class Birth(msgspec.Struct, tag="birth"):
    """Whom the process is to be, and with which code."""

    host: str
    agent: str
    program: str
    state: bytes | None
    origin: str = ""
    why: str = ""
    code: bytes | None = None
    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    source: str = ""
    module: str = ""
    archive: bytes = b""
    laws: tuple[tuple[str, str], ...] = ()
    mail: tuple[tuple[str, str, bytes], ...] = ()
    memory: int = 0
    network: bool = False


class Begin(msgspec.Struct, tag="begin"):
    """Its launch is on disk: run."""


class HelperCreated(msgspec.Struct, tag="created"):
    """A helper is there, or not."""

    number: int
    agent: str = ""
    error: Fault | None = None


class MailHeld(msgspec.Struct, tag="held"):
    """No more mail of an agent follows."""

    agent: str


class Gone(msgspec.Struct, tag="gone"):
    """An agent has left this host."""

    agent: str


class StopProgram(msgspec.Struct, tag="stop"):
    """It is to end."""


class PingProgram(msgspec.Struct, tag="ping"):
    """Is it there?"""


class Born(msgspec.Struct, tag="born"):
    """The code is there, and this is its state; its programs and functions, if it was asked."""

    state: bytes = b""
    programs: tuple[str, ...] = ()
    functions: tuple[tuple[str, int, int], ...] = ()


class Unborn(msgspec.Struct, tag="unborn"):
    """The code cannot be run."""

    why: str
    module: str = ""


class Strong(msgspec.Struct, tag="strong"):
    """Register a strong reaction; answered as the call of this number."""

    agent: str
    number: int
    space: str
    pattern: bytes
    mode: Mode
    at: str
    dest: str


class Attend(msgspec.Struct, tag="attend"):
    """Bring an agent's mail under a law."""

    agent: str
    law: str


class HoldMail(msgspec.Struct, tag="hold"):
    """Bring an agent no more mail: it is about to move."""

    agent: str


class CreateHelper(msgspec.Struct, tag="create"):
    """Have a helper; one that runs a program of the same code, where one is named."""

    number: int
    name: str
    program: str = ""
    state: bytes | None = None


class Said(msgspec.Struct, tag="said"):
    """Something went wrong beside the program's own path."""

    what: str
    facts: dict[str, str]
    error: str = ""


class Over(msgspec.Struct, tag="over"):
    """`run` has returned."""

    mail: tuple[tuple[str, str, bytes], ...] = ()
    """What it has not read."""


class Raised(msgspec.Struct, tag="raised"):
    """`run` has raised."""

    error: str
    mail: tuple[tuple[str, str, bytes], ...] = ()


class ProgramAlive(msgspec.Struct, tag="pong"):
    """It is."""


ToProgram: TypeAlias = Birth | Begin | HelperCreated | MailHeld | Gone | StopProgram | PingProgram
ToHost: TypeAlias = (
    Born | Unborn | Strong | Attend | HoldMail | CreateHelper | Said | Over | Raised | ProgramAlive
)


class FireListener(msgspec.Struct, array_like=True, tag="fire"):
    """A strong reaction, by the number of the call that registered it, fires for a tuple."""

    number: int
    found: bytes


class InsideAnswer(msgspec.Struct, array_like=True, tag="answered"):
    """An operation inside the step is done (`wire.talk`)."""

    body: bytes


class Apply(msgspec.Struct, array_like=True, tag="apply"):
    """The value of a dependence function for some inputs, as the bytes of a list term."""

    name: str
    inputs: bytes


class InsideCall(msgspec.Struct, array_like=True, tag="inside"):
    """An operation inside the step."""

    body: bytes


class Done(msgspec.Struct, array_like=True, tag="done"):
    """The listener has returned, or raised; or a function has its value, the bytes of a list of
    it, or none.
    """

    error: str = ""
    value: bytes = b""


ToListener: TypeAlias = FireListener | InsideAnswer | Apply
ToStep: TypeAlias = InsideCall | Done

_ENVELOPE: Final = msgspec.msgpack.Decoder(tuple[str, bytes])
TO_PROGRAM: Final[msgspec.msgpack.Decoder[ToProgram]] = msgspec.msgpack.Decoder(ToProgram)
TO_HOST: Final[msgspec.msgpack.Decoder[ToHost]] = msgspec.msgpack.Decoder(ToHost)
TO_LISTENER: Final[msgspec.msgpack.Decoder[ToListener]] = msgspec.msgpack.Decoder(ToListener)
TO_STEP: Final[msgspec.msgpack.Decoder[ToStep]] = msgspec.msgpack.Decoder(ToStep)


def framed(said: object) -> bytes:
    """Something to say as a frame with its length, ready to be sent."""
    data = msgspec.msgpack.encode(said)
    return length_of(len(data)) + data


def envelope(agent: str, body: bytes) -> bytes:
    """A frame of the first socket: an agent, and a body as clients have them."""
    return framed((agent, body))


def word(said: ToProgram | ToHost) -> bytes:
    """A frame of the first socket with a word of this module."""
    return envelope("", msgspec.msgpack.encode(said))


def opened(frame: bytes) -> tuple[str, bytes]:
    """The agent and the body of a frame; raises `BadFrame`."""
    return read(_ENVELOPE, frame)


def read(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    """What the other end says; raises `BadFrame`."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(why=str(error)) from None
