"""`nomospace tuple`: write, read, take and list tuples of a running host.

Fields and patterns are typed as `nomospace.terms.written` says. The commands act as an agent of the
host, which stays there with what it wrote; `ls` looks into a space as an operator does, and leaves
no trace.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import typer
from typer.core import TyperCommand

from nomospace.calls.ways import DEAD, PRIORITY_MAX
from nomospace.cli import SAID_NO
from nomospace.cli.remote_options import (
    Commands,
    Remote,
    Unusable,
    print_json,
    print_table,
)
from nomospace.terms import Compound, Term, show, term
from nomospace.terms.values import dict_items
from nomospace.terms.written import read_fields, read_patterns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nomospace.client.remote import RemoteHost
    from nomospace.client.space import Space

LEASE_S: Final = 30.0
"""A tuple that was waited for is lent for so long, until it has been printed."""
REDO_WAIT_S: Final = 0.2
"""How long is waited for one more dead letter, which may lie on another host."""
HOLES: Final = "A term with holes; `nomospace tuple --help` says which."
LIMIT: Final = 100
LIMIT_MAX: Final = 10_000
"""The most tuples that `ls` shows: what one answer of a host holds."""

app = Commands(
    """Write, read, take and list tuples of a running host.

    A field is a term: 17, 2.5, fire, true, 'two words', room(3), [1,2]. Shells want most of these
    in quotes of their own: "'two words'", 'room(3)'. Put -- before fields that begin with a minus.

    A pattern is a term with holes: _ is anything; _:int a kind (int, float, number, str, bool,
    bytes, list); _:1..10 a range; _:'> 5' what a predicate holds of; _:Car an object of that class;
    X the same wherever X stands. Holes may stand inside: 'room(_:int)', '[_,2]'.
    """
)


class _Place(TypedDict):
    at: str | None
    dest: str | None


class _Command(TyperCommand):
    """A command whose arguments may look like options by mistake."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a negative number among them needs `--` before it."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            name = str(getattr(error, "option_name", ""))
            if re.match(r"-[0-9]", name):
                why = f"{name}… reads as an option; put -- before the fields"
                raise typer.BadParameter(why, ctx) from None
            raise


SpaceArgument = Annotated[str, typer.Argument(metavar="SPACE", help="The space's name.")]
FieldsArgument = Annotated[list[str], typer.Argument(metavar="FIELD", help="A term.")]
PatternsArgument = Annotated[list[str], typer.Argument(metavar="PATTERN", help=HOLES)]
AsOption = Annotated[
    str,
    typer.Option(
        "--as", metavar="AGENT", help="The agent to be; if none, the token's or identity's, or cli."
    ),
]
PrivateOption = Annotated[
    bool, typer.Option("--private", help="Do not share the agent's space with others.")
]


@dataclass(kw_only=True)
class TupleSeeking:
    """The options that `read` and `take` share, and what they do."""

    as_: AsOption = ""
    at: Annotated[
        str, typer.Option(metavar="PLACE", help="Only what this agent or host holds.")
    ] = ""
    dest: Annotated[str, typer.Option(metavar="AGENT", help="Only what is for this agent.")] = ""
    wait: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="SECONDS", help="Wait so long, for a tuple of any host in touch."
        ),
    ] = None
    all_: Annotated[
        bool, typer.Option("--all", help="All that match, and not just the oldest.")
    ] = False
    together: Annotated[
        bool,
        typer.Option("--together", help="Several tuples that hang together may answer as one."),
    ] = False
    key: Annotated[
        str,
        typer.Option(metavar="CLASS", help="With --together: all of them hold one object of it."),
    ] = ""
    max_set: Annotated[
        int | None,
        typer.Option(
            "--max-set",
            min=1,
            metavar="N",
            help="With --together: no more than N of them; 6 if none.",
        ),
    ] = None
    private: PrivateOption = False

    def __post_init__(self) -> None:
        from nomospace.client.tuples import correlation

        for option, given in (("--key", self.key), ("--max-set", self.max_set)):
            if given and not self.together:
                raise Unusable(what=option, why="it is for sets of tuples; say --together too")
        if self.all_ and self.wait is not None:
            raise Unusable(what="--all", why="it does not wait; leave --wait away")
        self.sets = correlation("auto" if self.together else None, self.key, self.max_set)
        self.place = _Place(at=self.at or None, dest=self.dest or None)

    def run(self, how: str, remote: Remote, space: str, patterns: Sequence[str]) -> None:
        """Read or take, and print what was found; exit code 1 when there is nothing."""
        from nomospace.client.space import ROWS_MAX

        template = read_patterns(patterns)

        async def work(host: RemoteHost) -> bool:
            agent = await host.agent(remote.agent(self.as_))
            opened = await agent.space(space, shared=not self.private)
            if self.wait is not None:
                return await self._waited(opened, how, template, as_json=remote.as_json)
            if self.all_:
                find = opened.read_all if how == "read" else opened.take_all
                found = await find(*template, **self.place, **self.sets)
            else:
                find_one = opened.read_nowait if how == "read" else opened.take_nowait
                one = await find_one(*template, **self.place, **self.sets)
                found = [] if one is None else [one]
            try:
                for fields in found:
                    _print_tuple(fields, as_json=remote.as_json)
            except OSError:
                if how == "take":  # nobody has read them
                    rows = [one for fields in found for one in fields.tuples]
                    for at in range(0, len(rows), ROWS_MAX):
                        await opened.out_many(rows[at : at + ROWS_MAX])
                raise
            return bool(found)

        if not remote.run(work):
            if not remote.as_json:
                where = "" if self.wait is None else f" within {self.wait:g} s"
                print(f"nothing in {space} matches{where}", file=sys.stderr)
            raise typer.Exit(SAID_NO)

    async def _waited(
        self, space: Space, how: str, template: Sequence[object], *, as_json: bool
    ) -> bool:
        from nomospace.client import TimedOut

        place, sets = self.place, self.sets
        try:
            if how == "read":
                found = await space.read(*template, timeout=self.wait, **place, **sets)
                _print_tuple(found, as_json=as_json)
                return True
            taking = space.take(*template, timeout=self.wait, lease=LEASE_S, **place, **sets)
            async with taking as lent:  # whoever is killed before it is printed has not had it
                _print_tuple(lent, as_json=as_json)
        except TimedOut:
            return False
        return True


@app.command(cls=_Command)
def out(
    remote: Remote,
    space: SpaceArgument,
    fields: FieldsArgument,
    *,
    as_: AsOption = "",
    to: Annotated[str, typer.Option(metavar="AGENT", help="The agent that it is for.")] = "",
    ttl: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Gone after so long.")
    ] = None,
    once: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Write nothing if the agent has, here, under this key."),
    ] = None,
    priority: Annotated[
        int, typer.Option(min=-PRIORITY_MAX, max=PRIORITY_MAX, help="Higher ones are found first.")
    ] = 0,
    private: PrivateOption = False,
    durable: Annotated[
        bool, typer.Option(help="Whether a new space of the agent is kept on disk.")
    ] = True,
    engine: Annotated[
        str,
        typer.Option(metavar="ENGINE", help="Of a new space: memory; store for very large ones."),
    ] = "",
    partition: Annotated[
        str,
        typer.Option(metavar="FIELD", help="Of a new space: by which field, from 0 on; or 0.vin."),
    ] = "",
) -> None:
    """Write a tuple.

    For example: nomospace tuple out jobs job 17 'room(3)'

    It is on the host's disk when the command ends well. With --once it may be run again safely: the
    agent writes to that space under that key one time only.
    """
    values = read_fields(fields)

    async def work(host: RemoteHost) -> str:
        agent = await host.agent(remote.agent(as_))
        opened = await agent.space(
            space, shared=not private, durable=durable, engine=engine, partition=partition
        )
        await opened.out(*values, to=to or None, ttl=ttl, once=once, priority=priority)
        return agent.id

    agent = remote.run(work)
    remote.say(
        {"space": space, "agent": agent, "fields": plain(values)},
        f"wrote to {space} as {agent}: {words(values)}",
    )


@app.command(cls=_Command)
def read(
    remote: Remote,
    space: SpaceArgument,
    patterns: PatternsArgument,
    *,
    seeking: TupleSeeking,
) -> None:
    """Print a tuple that matches, and leave it there.

    For example: nomospace tuple read jobs job _:int _

    Without --wait, what lies on this host counts, or at the place of --at. Exit code 1 when nothing
    matches.
    """
    seeking.run("read", remote, space, patterns)


@app.command(cls=_Command)
def take(
    remote: Remote,
    space: SpaceArgument,
    patterns: PatternsArgument,
    *,
    seeking: TupleSeeking,
) -> None:
    """Take a tuple that matches, and print it.

    For example: nomospace tuple take jobs job _:1..20 _

    Without --wait, what lies on this host counts, or at the place of --at. With it, a tuple is gone
    once it is printed; if the command is killed before, it comes back, or all of a set do. What
    cannot be printed is written back. Exit code 1 when nothing matches.
    """
    seeking.run("take", remote, space, patterns)


@app.command(cls=_Command)
def redo(
    remote: Remote,
    space: SpaceArgument,
    patterns: PatternsArgument,
    *,
    as_: AsOption = "",
) -> None:
    """Put dead letters of a shared space that match back into it, and say how they died.

    For example: nomospace tuple redo jobs job _:int

    A tuple that came back from five leases lies in the space with .dead added. It is written anew,
    by the agent that this command acts as, and then gone from there; killed in between, it is
    written once all the same. Exit code 1 when nothing matches.
    """
    template = read_patterns(patterns)

    async def work(host: RemoteHost) -> bool:
        from nomospace.client import TimedOut

        agent = await host.agent(remote.agent(as_))
        dead = await agent.space(space + DEAD, shared=True)
        alive = await agent.space(space, shared=True)
        any_ = False
        while True:
            try:
                async with dead.take(*template, timeout=REDO_WAIT_S, lease=LEASE_S) as letter:
                    key = f"redo/{letter.id}"
                    await alive.out(*letter, once=key, priority=letter.priority)
            except TimedOut:
                return any_
            any_ = True
            ends = [
                f"{end.agent or 'somebody'}: {end.why or 'given back'}" for end in letter.history
            ]
            if remote.as_json:
                print_json({"fields": plain(letter), "history": ends})
            else:
                print(words(letter), *[f"  {end}" for end in ends], sep="\n", flush=True)

    if not remote.run(work):
        if not remote.as_json:
            print(f"no dead letter of {space} matches", file=sys.stderr)
        raise typer.Exit(SAID_NO)


@app.command()
def ls(
    remote: Remote,
    space: SpaceArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=LIMIT_MAX, help="How many at most.")] = LIMIT,
    private: Annotated[
        str, typer.Option(metavar="AGENT", help="Look into this agent's private space.")
    ] = "",
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Say of each who wrote it, holds it, is to get it.")
    ] = False,
) -> None:
    """List the tuples that lie in a space of this host, the oldest first.

    For operators: on a host with certificates it takes a token with the scope operator. Exit code 1
    when the host has no such space.
    """
    from nomospace.wire.admin import Tuples

    found = remote.ask(Tuples(space, private, limit))
    if not found.known:
        of = f"a private space {space} of {private}" if private else f"a shared space {space}"
        print(f"the host has not {of}; `nomospace space ls` shows all", file=sys.stderr)
        raise typer.Exit(SAID_NO)
    rows = [("id", "held by", "for", "lent", "tuple")]
    for line in found.lines:
        values = tuple([term(text) for text in line.fields])
        facts = {
            "fields": plain(values),
            "id": f"{line.writer}#{line.count}",
            "holder": line.holder,
            "for": line.dest,
            "deliveries": line.deliveries,
        }
        if remote.as_json:
            print_json(facts if long else facts["fields"])
        elif long:
            lent = f"{line.deliveries} times"
            rows.append(
                (f"{line.writer}#{line.count}", line.holder, line.dest, lent, words(values))
            )
        else:
            print(words(values))
    if len(rows) > 1:
        print_table(rows)
    if len(found.lines) < found.total:
        shown = f"{len(found.lines):,} of {found.total:,} tuples"
        print(f"{shown}; lent ones are not shown, --limit shows more", file=sys.stderr)


def _print_tuple(fields: Sequence[Term], *, as_json: bool) -> None:
    if as_json:
        print_json(plain(fields))
    else:
        print(words(fields), flush=True)


def words(fields: Sequence[Term]) -> str:
    """A tuple as it could be typed, but for the quotes that a shell wants.

    >>> words(("job", 17, "two words", term("room(3)"), {"n": 1}))
    "job 17 'two words' room(3) {n:1}"
    """
    return " ".join(map(show, fields))


def plain(value: Any) -> object:
    """A value for JSON: what JSON has no form for, compounds and bytes, is text.

    >>> plain(("job", 17, None, term("room(3)"), term("{n: 1}"), b"!"))
    ['job', 17, None, 'room(3)', {'n': 1}, "b'21'"]
    """
    if (items := dict_items(value)) is not None:
        value = dict(items)
    if isinstance(value, Compound | bytes):
        return show(value)
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value
