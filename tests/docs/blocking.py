"""The blocking face's plain methods, written from the async one: `python -m tests.docs.blocking`.

What only waits for its counterpart, or asks it in its own thread, has the signature of that and the
first line of its docstring. `nomospace.sync` has the rest by hand: what gives agents and spaces,
and what a program without `async` does in another way. A test holds the file to the code.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.repo.rooms import PACKAGE

FILE: Final = PACKAGE / "sync" / "calls.py"
HEAD: Final = '''"""What of the blocking face only waits for the async one.

Written from the code: python -m tests.docs.blocking
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from nomospace import client
from nomospace.client import DisclosedRuling, Standing
from nomospace.client.membership import Letter
from nomospace.client.program import AnyProgram
from nomospace.client.reactions import AnyHandle
from nomospace.client.tuples import Correlation
from nomospace.sync.background import background
from nomospace.terms.templates import Template

if TYPE_CHECKING:  # who only connects loads no host
    from nomospace import node
    from nomospace.client import fronts, remote
    from nomospace.client.laws import Law
    from nomospace.protocols.messages import View
    from nomospace.wire.admin import A, ContactLine, OperatorQuestion
'''
ABOUT_MAX: Final = 86
"""What fits into a line with its quotes; of more, the last part of a sentence is left out."""
TYPES: Final = {
    "Tuple": "client.Tuple",
    "Tuple | None": "client.Tuple | None",
    "list[Tuple]": "list[client.Tuple]",
    "Program[Any]": "AnyProgram",
    "CompiledLaw | None": "Law | None",
    "client.ReactionHandle[Any]": "AnyHandle",
}
"""Types under names that are at hand here."""


class Face(NamedTuple):
    """A class of the blocking face: whose methods it has, and attributes that are none there."""

    name: str
    of: str
    files: tuple[str, ...]
    methods: tuple[str, ...]
    attributes: tuple[tuple[str, str, str], ...] = ()


FACES: Final = (
    Face(
        "HostCalls",
        "node.Host",
        ("node/local.py", "node/grouped.py"),
        ("launch", "end", "suspend", "resume", "programs", "view", "wait_closed", "law",
         "connected", "engage", "disengage", "moved", "wait_engaged", "wait_parted"),
        (("name", "str", "The host's name."),),
    ),
    Face(
        "RemoteHostCalls",
        "remote.RemoteHost",
        ("client/remote.py",),
        ("ask", "contact", "engage", "disengage", "moved"),
    ),
    Face(
        "AgentCalls",
        "client.Agent",
        ("client/agent.py",),
        ("id", "move", "close", "end", "send", "receive_nowait"),
    ),
    Face(
        "MembershipCalls",
        "client.Membership",
        ("client/membership.py",),
        ("send", "present", "standing", "quit", "receive_nowait"),
        (
            ("law", "client.Law", "The law."),
            ("ruling", "DisclosedRuling | None", "The ruling on the adoption."),
            ("number", "int", "Which of the agent's memberships under the law it is."),
            ("key", "str", "How HTTP names it: by its law's hash, and `~2` for the second one."),
            ("address", "str", "Where other members write to it."),
        ),
    ),
    Face(
        "SpaceCalls",
        "client.Space",
        ("client/space.py",),
        ("owner", "out", "acknowledge", "renew", "give_back", "tell", "monitor",
         "take_nowait", "read_nowait", "take_all", "read_all", "share", "unshare"),
        (
            ("name", "str", "The name that it shares with the spaces of other agents."),
            ("shared", "bool", "Whether others see it, and it sees them."),
        ),
    ),
    Face(
        "FrontCalls",
        "fronts.FrontSpace",
        ("client/fronts.py",),
        ("out", "take", "read", "take_nowait", "read_nowait", "take_all", "read_all"),
        (("name", "str", "The front's id."),),
    ),
    Face(
        "ReactionCalls",
        "client.ReactionHandle[Any]",
        ("client/reactions.py",),
        ("disable", "enable", "remove", "wait_registered", "wait_fired"),
        (
            ("template", "Template", "What it watches for."),
            ("mode", "str", "`once` or `once-per-tuple`."),
            ("strength", "str", "`weak` or `strong`."),
            ("at", "str | None", "The host or agent it is bound to."),
            ("dest", "str | None", "The agent that its tuples are for."),
            ("state", "str", "`enabled`, `disabled` or `removed`."),
            ("fired", "int", "How often the listener was run."),
        ),
    ),
)  # fmt: skip


def written() -> str:
    """The whole file, as it should be."""
    text = "\n".join([HEAD, *["\n".join(_face(face)) for face in FACES]])
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parents[1],
    )
    return done.stdout


def _face(face: Face) -> Iterator[str]:
    yield ""
    yield f"class {face.name}:"
    yield f'    """What waits for a `{face.of.partition("[")[0]}`."""\n'
    yield '    __slots__ = ("_it",)\n'
    yield f"    _it: {TYPES.get(face.of, face.of)}\n"
    yield "    def __repr__(self) -> str:"
    yield "        return repr(self._it)\n"
    for name, kind, about in face.attributes:
        yield from _property(name, kind, about)
    functions = _functions(face)
    for name in face.methods:
        yield from _method(functions[name])


def _functions(face: Face) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods of the async class and of what it is made from, by name."""
    found = {}
    for file in reversed(face.files):
        for node in ast.walk(ast.parse((PACKAGE / file).read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name in (
                _plain(face.of),
                "Grouped",
                "LetterQueue",
            ):
                for one in node.body:
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                        found[one.name] = one
    return found


def _plain(name: str) -> str:
    return name.partition("[")[0].rpartition(".")[2]


def _property(name: str, kind: str, about: str) -> Iterator[str]:
    yield "    @property"
    yield f"    def {name}(self) -> {kind}:"
    yield f'        """{about}"""'
    yield f"        return self._it.{name}\n"


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    about = (ast.get_docstring(node) or "").partition("\n")[0]
    gives = ast.unparse(node.returns) if node.returns is not None else "None"
    gives = TYPES.get(gives, gives)
    if any(ast.unparse(one) == "property" for one in node.decorator_list):
        yield from _property(node.name, gives, about)
        return
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        if argument.annotation is not None:
            text = ast.unparse(argument.annotation)
            argument.annotation = ast.parse(TYPES.get(text, text), mode="eval").body
    yield f"    def {node.name}({ast.unparse(node.args)}) -> {gives}:"
    if len(about) > ABOUT_MAX:
        about = about.rpartition("; ")[0] + "."
    yield f'        """{about}"""'
    passed = ", ".join(_passed(node.args))
    if isinstance(node, ast.AsyncFunctionDef):
        does = f"background.wait(self._it.{node.name}({passed}))"
    else:
        does = f"background.call(self._it.{node.name}{', ' if passed else ''}{passed})"
    yield f"        {'' if gives == 'None' else 'return '}{does}\n"


def _passed(args: ast.arguments) -> Iterator[str]:
    yield from [one.arg for one in args.args[1:]]
    if args.vararg is not None:
        yield f"*{args.vararg.arg}"
    yield from [f"{one.arg}={one.arg}" for one in args.kwonlyargs]
    if args.kwarg is not None:
        yield f"**{args.kwarg.arg}"


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
