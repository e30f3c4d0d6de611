"""The options of commands that speak with a running host, and what these make of them.

A command that takes a `Remote` has the options `--host`, `--token`, `--identity`, `--trust`,
`--timeout` and `--json` (`in_groups`). What is the same from one command to the next may
stand in variables (NOMOSPACE_HOST, NOMOSPACE_TOKEN, NOMOSPACE_IDENTITY, NOMOSPACE_TRUST); a token
is best given so, as others on the machine can read command lines.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_type_hints

import msgspec
import typer

from nomospace.errors import CallerError

if TYPE_CHECKING:
    from nomospace.client import Report
    from nomospace.client.laws import Law
    from nomospace.client.remote import RemoteHost
    from nomospace.wire.admin import A, OperatorQuestion

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., None])

MARKUP: Literal["rich"] | None = "rich" if sys.stdout.isatty() else None  # plain for programs
LOCAL: Final = "nomos+plain://127.0.0.1:7420"
"""The host that is spoken with where none is named."""
AGENT: Final = "cli"
"""Whom commands speak for on a host without certificates, where `--as` names nobody."""
TOKENS_BEGIN: Final = "ns1."
"""How tokens begin that `nomospace trust issue token` makes; an insecure host's own does not."""
TIMEOUT_S: Final = 10.0
URLS: Final = "nomos://machine:port, or nomos+plain:// for one without certificates."

TokenOption = Annotated[
    str,
    typer.Option(
        envvar="NOMOSPACE_TOKEN", help="A token, as `nomospace trust issue token` makes one."
    ),
]
IdentityOption = Annotated[
    str,
    typer.Option(
        envvar="NOMOSPACE_IDENTITY",
        metavar="DIR",
        help="A folder with an agent's certificate and key.",
    ),
]
TrustOption = Annotated[
    str,
    typer.Option(
        envvar="NOMOSPACE_TRUST",
        metavar="PATH",
        help="The authority that the host must be certified by: authority.pem, or its folder.",
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        max=3_600,
        metavar="SECONDS",
        help="How long the host may take to answer.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Commands(typer.Typer):
    """Commands, or one, that may take their options in groups (`in_groups`)."""

    def __init__(self, help: str | None = None) -> None:
        """`help` is for commands under one name."""
        super().__init__(
            add_completion=False,
            no_args_is_help=help is not None,
            rich_markup_mode=MARKUP,
            help=help,
        )

    def command(self, *args: Any, **options: Any) -> Callable[[C], C]:
        """Add a command."""
        add = super().command(*args, **options)

        def added(command: C) -> C:
            add(in_groups(command))
            return command

        return added


class Unusable(CallerError):
    """A file or an argument of the command line cannot be used."""

    code = "cli.unusable"
    words = "{what}: {why}"
    what: str
    why: str


@contextmanager
def usable(what: object, fails: str) -> Iterator[None]:
    """What the system says of a file, in our words: `fails` is what could not be done with it."""
    try:
        yield
    except OSError as error:
        raise Unusable(what=str(what), why=f"{fails}: {error.strerror}") from None


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A host to speak with, and as whom: a group of options (`in_groups`)."""

    url: Annotated[
        str, typer.Option("--host", envvar="NOMOSPACE_HOST", metavar="URL", help=URLS)
    ] = LOCAL
    token: TokenOption = ""
    identity: IdentityOption = ""
    trust: TrustOption = ""
    timeout_s: TimeoutOption = TIMEOUT_S
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object a line.")] = False
    alongside: bool = True
    """Whether another command may be at work as the same agent, and is left alone."""

    def run(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        """Connect, do some work, and end the connection, also when it is interrupted."""
        return asyncio.run(self._run(work))

    async def _run(self, work: Callable[[RemoteHost], Awaitable[T]]) -> T:
        from nomospace.client.dialling import read_urls
        from nomospace.client.remote import connect

        if self.token.startswith(TOKENS_BEGIN) and not read_urls(self.url)[0].secure:
            why = (
                f"{self.url} is not encrypted, and a token must not be shown there; leave it "
                "away (is NOMOSPACE_TOKEN set?), or use nomos://…"
            )
            raise Unusable(what="--token", why=why)
        async with connect(
            self.url,
            token=self.token,
            identity=self.identity or None,
            trust=self.trust or None,
            reconnect_s=self.timeout_s,
            connect_s=0,
            alongside=self.alongside,
            on_report=_report,
        ) as host:
            return await work(host)

    def say(self, facts: object, words: str) -> None:
        """Print what was done: facts as JSON where that is wanted, else in words. At once."""
        say(facts, words, as_json=self.as_json)

    def ask(self, question: OperatorQuestion[A]) -> A:
        """The answer to an operator's question."""
        return self.run(lambda host: self.asked(host, question))

    async def asked(self, host: RemoteHost, question: OperatorQuestion[A]) -> A:
        """The answer of a host that is connected already."""
        from nomospace.client.dialling import Unreachable

        try:
            async with asyncio.timeout(self.timeout_s):
                return await host.ask(question)
        except TimeoutError:
            why = f"no answer within {self.timeout_s:g} s"
            raise Unreachable(url=self.url, why=why) from None

    def agent(self, name: str) -> str | None:
        """Whom to speak for: the one named, the bearer, or on an open host one of our own."""
        if name:
            return name
        proved = self.identity or self.token.startswith(TOKENS_BEGIN)
        return None if proved else AGENT


def _report(report: Report) -> None:
    """Tell what went wrong beside a command, unless the command itself tells of it."""
    from nomospace.client.session_driver import MovedOn

    if not isinstance(report.error, MovedOn):
        print(report, file=sys.stderr)


def in_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take its options in groups: dataclasses whose fields say which they are.

    >>> @in_groups
    ... def where(remote: Remote, agent: str) -> None: ...
    >>> list(inspect.signature(where).parameters)
    ['agent', 'url', 'token', 'identity', 'trust', 'timeout_s', 'as_json']
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    groups = {one.name: _options(hints[one.name]) for one in own if is_dataclass(hints[one.name])}

    @functools.wraps(command)
    def run(**told: object) -> None:
        made = {
            name: hints[name](**{option.name: told.pop(option.name) for option in options})
            for name, options in groups.items()
        }
        command(**made, **told)

    parameters = [
        option
        for one in sorted(own, key=lambda one: hints[one.name] is Remote)
        for option in groups.get(one.name, [one.replace(annotation=hints[one.name])])
    ]
    parameters.sort(key=lambda one: one.kind)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    """The options of a group: those of its fields that are annotated with one."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
        if hasattr(hints[one.name], "__metadata__")
    ]


def named_law(source: str) -> Law:
    """A law that was named: one that is shipped, by its name, or as `Law.load` finds it."""
    from nomospace import laws
    from nomospace.client.laws import load_law

    if source in laws.NAMES and not Path(source).exists():
        return load_law(laws.path(source))
    return load_law(source)


def say(facts: object, words: str, *, as_json: bool) -> None:
    """Print what was done: for programs, or in words. At once."""
    if as_json:
        print_json(facts)
    else:
        print(words, flush=True)


def print_json(data: object, *, indent: int | None = None) -> None:
    """JSON, at once: what reads it may be waiting. In letters where the output can carry them."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    data = msgspec.to_builtins(data)
    print(json.dumps(data, indent=indent, ensure_ascii=encoding != "utf8"), flush=True)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Rows of text in columns.

    >>> print_table([("space", "tuples"), ("jobs", "17")])
    space  tuples
    jobs   17
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
