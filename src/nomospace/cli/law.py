"""`nomospace law`: the tools of those who write laws.

What a command found goes to stdout, why it could not go on to stderr. A law with errors is exit
code 2 wherever it is met; 1 is for a check that said no: laws that differ, a layout that is not
the formatter's, a scenario that failed, a run that had to be stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nomospace.cli.remote_options import Commands, JsonOption, Remote, Unusable, print_json, usable

if TYPE_CHECKING:
    from nomospace.control import Explanation
    from nomospace.law import CompiledLaw
    from nomospace.meaning.reading import OntologyFault
    from nomospace.scenarios.lawtest import Result
    from nomospace.terms import Diagnostic, Source
    from nomospace.terms.source import Span

app = Commands("Check, format, compare, explain, run and test laws.")

LawArgument = Annotated[str, typer.Argument(metavar="LAW", help="A .law or .law.py file.")]
LawsArgument = Annotated[
    list[str], typer.Argument(metavar="LAW...", help="Files; - is a .law text on stdin.")
]


# -- check ---------------------------------------------------------------------------------


@app.command()
def check(
    laws: LawsArgument,
    *,
    as_json: JsonOption = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings too.")] = False,
) -> None:
    """Report all errors and warnings of laws; exit 2 when there are errors."""
    from nomospace.law.program import examine

    counts = {"error": 0, "warning": 0, "note": 0}
    rows: list[dict[str, object]] = []
    for name in laws:
        source = _source(name)
        for found in examine(source)[1]:
            counts[found.severity] += 1
            if as_json:
                rows.append(_finding_data(found, source))
            else:
                print(found.render(source))
    if as_json:
        numbers = {f"{kind}s": number for kind, number in counts.items()}
        print_json({**numbers, "findings": rows}, indent=2)
    else:
        print(", ".join(counted(n, kind) for kind, n in counts.items() if n or kind != "note"))
    if counts["error"]:
        raise typer.Exit(2)
    if strict and counts["warning"]:
        raise typer.Exit(1)


def _finding_data(found: Diagnostic, source: Source) -> dict[str, object]:
    data = finding_data(found, found.severity, source, found.span)
    if found.related:
        data["related"] = [
            {"message": words, "line": source.place(span.start)[0]} for words, span in found.related
        ]
    return data


def finding_data(
    found: Diagnostic | OntologyFault, severity: str, source: Source, span: Span | None
) -> dict[str, object]:
    """Something that was found in a file, for programs: where, what, and what helps."""
    data: dict[str, object] = {"file": source.name}
    if span is not None:
        line, column = source.place(span.start)
        end_line, end_column = source.place(span.end)
        data |= {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    data |= {"severity": severity, "code": found.code, "message": found.message}
    return data | ({"help": found.help} if found.help else {})


def counted(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "error"), counted(3, "warning")
    ('1 error', '3 warnings')
    """
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


# -- fmt -----------------------------------------------------------------------------------


@app.command()
def fmt(
    laws: LawsArgument,
    *,
    check_only: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")
    ] = False,
    show_diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; show changes and exit 1 if any.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Lay laws out in the one way, in place; `-` reads stdin and writes stdout."""
    from nomospace.law.format import format_law

    changed: list[str] = []
    for name in laws:
        if name.endswith(".py"):
            why = "a law in Python is laid out by Python's formatters; use one of those"
            raise Unusable(what=name, why=why)
        source = _source(name)
        done = format_law(source.text, source.name)
        differs = done != source.text
        changed += [source.name] * differs
        if show_diff and differs and not as_json:
            _print_diff(source.text, done, source.name)
        if not check_only and not show_diff:
            if name == "-":
                sys.stdout.write(done)
            elif differs:
                _write(name, done)
    look_only = check_only or show_diff
    if as_json:
        print_json({"changed": changed, "written": not look_only}, indent=2)
    elif not show_diff and laws != ["-"]:
        for name in changed:
            print(f"would lay out {name}" if look_only else f"laid out {name}")
        if not changed:
            print(f"{counted(len(laws), 'file')} already laid out")
    if look_only and changed:
        raise typer.Exit(1)


def _print_diff(old: str, new: str, name: str) -> None:
    from difflib import unified_diff

    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, f"{name} (laid out)"
    )
    for line in lines:
        sys.stdout.write(line if line.endswith("\n") else f"{line}\n\\ no line break at the end\n")


def _write(name: str, text: str) -> None:
    """Write a file whole or not at all: a law must not be lost to a full disk."""
    from nomospace.store.private import whole

    path = Path(name).resolve()
    with usable(name, "cannot be written"), whole(path) as new:
        new.write_text(text, encoding="utf-8")
        new.chmod(path.stat().st_mode)


# -- hash and diff -------------------------------------------------------------------------


@app.command("hash")
def hash_(laws: LawsArgument, *, as_json: JsonOption = False) -> None:
    """Print the hash that names a law; with several files, each with its file."""
    found = [(name, _load(name)) for name in laws]
    if as_json:
        rows = [{"file": n, "name": law.name, "hash": law.hash} for n, law in found]
        print_json(rows[0] if len(rows) == 1 else rows, indent=2)
        return
    for name, law in found:
        print(law.hash if len(found) == 1 else f"{law.hash}  {name}")


@app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A law.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Say what changed between two laws, rule by rule; exit 1 when their hashes differ."""
    from nomospace.law.diff import diff_laws

    found = diff_laws(_load(old).tree, _load(new).tree)
    if as_json:
        print_json(found.to_data(), indent=2)
    else:
        sys.stdout.write(found.render())
    if not found.same:
        raise typer.Exit(1)


# -- explain -------------------------------------------------------------------------------


@app.command()
def explain(
    law: LawArgument,
    event: Annotated[
        str, typer.Argument(metavar="[EVENT]", help="As laws write it: \"sent('a@w',m,'b@w')\".")
    ] = "",
    *,
    state: Annotated[
        str | None, typer.Option(help="The control state, a list; initialCS if not given.")
    ] = None,
    home: Annotated[
        str, typer.Option(help="Whose event; not needed when the event names it.")
    ] = "",
    at: Annotated[float, typer.Option(help="The time, in seconds.")] = 0.0,
    events: Annotated[
        str, typer.Option(metavar="FILE", help="Explain a line of an events file instead.")
    ] = "",
    line: Annotated[int, typer.Option(help="Which line of it.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Say why an event is ruled on as it is: which rule, which goals held, which failed.

    Either one EVENT against a control state, or line N of an events file (as `law run` reads it)
    after all the lines before it. Whatever the event causes is explained as well.
    """
    if bool(event) == bool(events):
        why = "give either an EVENT, or --events FILE with --line N"
        raise Unusable(what="nothing to explain" if not event else "two things to explain", why=why)
    compiled = _load(law)
    if events:
        found = _explain_line(compiled, events, line)
    else:
        found = _explain_event(compiled, event, state, home, at)
    first = True
    for explanation in found:
        if as_json:
            print_json(explanation)
            continue
        if not first:
            print()
        first = False
        print(explanation.text)


def _explain_event(
    law: CompiledLaw, text: str, state: str | None, home: str, at: float
) -> Iterator[Explanation]:
    from nomospace.scenarios.community import Community
    from nomospace.scenarios.lawrun import read_event, read_state

    told = read_event(text, home=home, at=at)
    community = Community(law)
    if state is not None:
        community.set_state(told.home, read_state(state))
    for happening in community.tell(told.home, told.event, at=told.at):
        yield community.explain(happening.ruling)


def _explain_line(law: CompiledLaw, name: str, line: int) -> Iterator[Explanation]:
    from nomospace.scenarios.lawrun import Run, StartLine, read_lines

    run = Run(law)
    with _lines(name) as lines:
        for told in read_lines(lines, name):
            if told.line == line and isinstance(told, StartLine):
                why = "it sets a starting state, and there is nothing to explain in that"
                raise Unusable(what=f"{name}: line {line}", why=why)
            if told.line == line and told.at is not None:
                for _ in run.community.advance(told.at):
                    pass
            for happening in run.happenings(told, name):
                if told.line == line:
                    yield run.community.explain(happening.ruling)
            if told.line == line:
                return
    raise Unusable(what=name, why=f"it has no event on line {line}; give one with --line")


# -- run -----------------------------------------------------------------------------------


@app.command()
def run(
    law: LawArgument,
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="JSON lines, in time order; - is stdin.")
    ],
    *,
    until: Annotated[
        float | None, typer.Option(help="Let time pass up to this second after the last line.")
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Forwarded messages arrive nowhere.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The output is JSON anyway.")] = False,
) -> None:
    """Rule on events in virtual time, and print a JSON line for each ruling.

    Errors of the law or of a line end it with exit code 2, events that cause each other without
    end with 1; what was printed before stands.
    """
    del as_json
    from nomospace.scenarios.lawrun import BadLine, Endless, Run

    compiled = _load(law)
    for found in compiled.warnings:
        if found.severity == "warning":
            _complain(found.render(compiled.tree.source))
    going = Run(compiled, isolated=isolated, until=until, say=_complain)
    name = "<stdin>" if events == "-" else events
    with _lines(events) as lines:
        try:
            for row in going.rows(_flushing(lines) if events == "-" else lines, name):
                print_json(row)
        except (BadLine, Endless) as error:
            _complain(error)
            raise typer.Exit(1 if isinstance(error, Endless) else 2) from None


def _complain(words: object) -> None:
    """Say something on stderr, after what already stands on stdout."""
    sys.stdout.flush()
    print(words, file=sys.stderr)


def _flushing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines from another program, which may wait for the answer to one before it gives the next."""
    for line in lines:
        yield line
        sys.stdout.flush()


# -- test ----------------------------------------------------------------------------------


@app.command("test")
def run_scenarios(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Laws, scenario files or folders.")
    ],
    *,
    as_json: JsonOption = False,
    coverage: Annotated[
        bool, typer.Option("--coverage/--no-coverage", help="Say what was never used.")
    ] = True,
) -> None:
    """Run the scenarios beside laws, in virtual time; exit 1 when one fails.

    The scenarios of rate.law stand in rate.test and rate.ANYTHING.test.
    """
    from nomospace.scenarios.lawtest import run_files

    results, covered = run_files(paths, None if as_json else _Reporter())
    failed = [result for result in results if not result.passed]
    if as_json:
        data = {
            "passed": len(results) - len(failed),
            "failed": len(failed),
            "scenarios": results,
        }
        if coverage:
            data["coverage"] = [one.to_data() for one in covered]
        print_json(data, indent=2)
    else:
        if coverage:
            print()
            for one in covered:
                print(one.render())
        print(f"\n{counted(len(results), 'scenario')}, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)


class _Reporter:
    """Prints results as they come, under the file and the law they belong to."""

    def __init__(self) -> None:
        self.under: tuple[str, str] | None = None

    def __call__(self, result: Result) -> None:
        if self.under != (result.file, result.law):
            self.under = result.file, result.law
            print(f"{result.file} under {result.law}")
        print(f"  {'ok' if result.passed else 'FAILED':<6}  {result.name}")
        for failure in result.failures:
            print(f"    {result.file}:{failure.line}: {failure.expected}")
            for line in failure.message.split("\n"):
                print(f"      {line}")


# -- suspend -------------------------------------------------------------------------------

OnHost = Annotated[
    str, typer.Argument(metavar="LAW", help="Its file, its name, or its hash or the start of it.")
]


@app.command()
def suspend(
    remote: Remote,
    law: OnHost,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which all are told.")] = "",
) -> None:
    """Let nobody at a running host act under a law, until it is resumed, restarts or not.

    Sends and operations are refused. Mail, obligations and control states are kept, and go on when
    the law is resumed.
    """
    from nomospace.cli.agent import suspension
    from nomospace.wire.admin import Suspend

    suspension(remote, Suspend(_named(law), why))


@app.command()
def resume(remote: Remote, law: OnHost) -> None:
    """End the suspension of a law: what was kept for its members is served, once."""
    from nomospace.cli.agent import suspension
    from nomospace.wire.admin import Resume

    suspension(remote, Resume(_named(law)))


def _named(law: str) -> str:
    """A law as its host knows it."""
    return _load(law).hash if Path(law).is_file() else law


# -- shared --------------------------------------------------------------------------------


def _source(name: str) -> Source:
    from nomospace.law import read_source
    from nomospace.terms import Source

    if name != "-":
        return read_source(name)
    try:
        return Source(_stdin().read().decode(), "<stdin>")
    except UnicodeDecodeError as error:
        raise Unusable(what="<stdin>", why=f"it is not UTF-8 text (byte {error.start})") from None


def _load(name: str) -> CompiledLaw:
    from nomospace.law.program import load_source

    return load_source(_source(name))


def _stdin() -> BinaryIO:
    return sys.stdin.buffer


@contextmanager
def _lines(name: str) -> Iterator[Iterator[bytes]]:
    """The lines of a file or of stdin, none read further than a line may be long."""
    from nomospace.scenarios.lawrun import LINE_BYTES_MAX

    def lines(file: BinaryIO) -> Iterator[bytes]:
        while line := file.readline(LINE_BYTES_MAX + 1):
            yield line

    if name == "-":
        yield lines(_stdin())
        return
    with usable(name, "cannot be read"):
        file = Path(name).open("rb")  # noqa: SIM115  # closed below; only opening may fail so
    with file:
        yield lines(file)
