"""The command line: arguments in, text out.

This room decides nothing. Each command lives in a module of its own that holds a `typer.Typer`;
`COMMANDS` names them, and only the chosen one is imported, so that starting stays quick however
many there are. A command is added by one line in that table; the laboratory, a package that may
be missing, plugs its own in (`laboratory`). A row whose module is not part of this build is left
out of the help and refused by name; the rest goes on working.

Exit codes: 0 fine; 1 a check or a run said no, or a part is not available; 2 bad input or usage;
70 a bug of ours, with its traceback; 130 interrupted; 141 the reader of our output went away.
"""

import errno
import os
import sys
from typing import NamedTuple

import nomospace

OK, SAID_NO, BAD_INPUT, BUG, INTERRUPTED, READER_GONE = 0, 1, 2, 70, 130, 141


class Command(NamedTuple):
    """Where a command lives: a module, the `typer.Typer` in it, and its line in the help."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "host": Command("nomospace.cli.host", "app", "Run a host for peers and clients."),
    "tuple": Command("nomospace.cli.tuple", "app", "Write, read, take and list tuples."),
    "space": Command("nomospace.cli.space", "app", "Show the spaces of a running host."),
    "agent": Command("nomospace.cli.agent", "app", "Show the agents of a host, and move them."),
    "mcp": Command("nomospace.cli.mcp", "app", "Let a language model be an agent, over MCP."),
    "mediator": Command(
        "nomospace.cli.serving", "mediator_app", "Pass on what is published, under a law."
    ),
    "front": Command(
        "nomospace.cli.serving", "front_app", "Serve a table or a Redis list, under a law."
    ),
    "journal": Command("nomospace.cli.journal", "app", "Read the record of what happened."),
    "backup": Command("nomospace.cli.backup", "backup_app", "Write a store into one file."),
    "restore": Command("nomospace.cli.backup", "restore_app", "Make a store of a backup."),
    "law": Command("nomospace.cli.law", "app", "Check, format, compare, explain and run laws."),
    "match": Command("nomospace.cli.match", "app", "Find tuples by meaning, and say why."),
    "ontology": Command("nomospace.cli.ontology", "app", "Check, show and draw ontologies."),
    "trust": Command("nomospace.cli.trust", "app", "Make keys and certificates; take them back."),
    "pipeline": Command("nomospace.cli.pipeline", "app", "Replay whole journals, on Spark or not."),
    "doctor": Command("nomospace.cli.doctor", "app", "Say what is missing here and what mends it."),
}


def commands() -> dict[str, Command]:
    """All commands that there are here: those of the runtime, then those of the laboratory."""
    from nomospace.cli.laboratory import commands as plugged

    return COMMANDS | plugged()


def main(arguments: list[str] | None = None) -> int:
    """Run one command and answer with its exit code.

    Errors of the caller's making are told in words, without a traceback: they are answers, not
    accidents. Anything unforeseen keeps its traceback and a code of its own, so that nobody takes
    a crash for a check that said no.

    >>> main(["--version"])
    nomospace 0.1.0
    0
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # who started this has closed it
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    unwritten = False
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = READER_GONE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as error:
        if not _is_of_output(error):
            raise
        why = f"its output cannot be written: {error.strerror}; make room, or send it elsewhere"
        print(f"nomospace: {why}", file=sys.stderr)
        code, unwritten = SAID_NO, True
    if code == READER_GONE or unwritten:
        # What is left in the buffer has nowhere to go; without this the interpreter would
        # complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in {"--version", "-V"}:
        print(f"nomospace {nomospace.__version__}")
        return OK
    if name in {"--help", "-h", "help"}:
        print(_help())
        return OK
    command = COMMANDS.get(name) or commands().get(name)
    if command is None:
        print(_unknown(name), file=sys.stderr)
        return BAD_INPUT
    if not _exists(command):
        print(
            f"nomospace {name} is not part of version {nomospace.__version__};"
            " `nomospace --help` lists what is",
            file=sys.stderr,
        )
        return BAD_INPUT
    return _dispatch(name, command, arguments[1:])


PRIVATE = frozenset({"up", "host", "journal", "backup", "restore", "match", "pipeline", "trust"})
"""Commands whose files are for their owner alone, also those that programs of others write."""


def _dispatch(name: str, command: Command, arguments: list[str]) -> int:
    before = os.umask(0o077)
    if name not in PRIVATE:
        os.umask(before)
    try:
        return _carry_out(name, command, arguments)
    finally:
        os.umask(before)


def _carry_out(name: str, command: Command, arguments: list[str]) -> int:
    from importlib import import_module

    from typer.main import get_command

    from nomospace.errors import Bug, CallerError, LawError, NomospaceError

    try:
        app = getattr(import_module(command.module), command.attribute)
        get_command(app).main(args=arguments, prog_name=f"nomospace {name}")
    except SystemExit as end:
        # Typer turns a closed pipe into a plain exit; the cause still hangs on it.
        if isinstance(end.__context__, BrokenPipeError):
            return READER_GONE
        return end.code if isinstance(end.code, int) else (SAID_NO if end.code else OK)
    except (CallerError, LawError) as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except Exception as error:
        if _is_of_output(error):
            raise
        if isinstance(error, ModuleNotFoundError):
            from nomospace.extras import missing

            told = missing(error, f"nomospace {name}")
            if told is not None:
                print(told, file=sys.stderr)
                return BAD_INPUT
        if isinstance(error, NomospaceError) and not isinstance(error, Bug):
            print(error, file=sys.stderr)
            return SAID_NO
        import traceback

        traceback.print_exc()
        return BUG
    return OK


def _is_of_output(error: Exception) -> bool:
    """Whether an error says that what is printed finds no room: it is about no file with a name."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return isinstance(error, OSError) and error.errno in full and error.filename is None


def _exists(command: Command) -> bool:
    from importlib.util import find_spec

    return find_spec(command.module) is not None


def _help() -> str:
    from nomospace.cli import laboratory

    rows = [f"  {name:<8} {c.help}" for name, c in COMMANDS.items() if _exists(c)]
    plugged = [f"  {name:<8} {c.help}" for name, c in laboratory.commands().items()]
    names = ", ".join(laboratory.COMMANDS)
    brings = f"  {names} come with: pip install 'nomospace[lab]'"
    return "\n".join(
        [
            "Usage: nomospace COMMAND [ARGUMENTS]",
            "",
            "A tuple space under law, for agents that move.",
            "",
            *rows,
            "",
            "The laboratory:",
            *(plugged or [brings]),
            "",
            "`nomospace COMMAND --help` says more; `nomospace --version` names the version.",
        ]
    )


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    from nomospace.cli import laboratory

    if name in laboratory.FOR_CLONES:
        from nomospace.cli.checkout import no_checkout

        return str(no_checkout())
    if name in laboratory.COMMANDS:
        return str(laboratory.missing(f"nomospace {name}"))
    near = get_close_matches(name, [n for n, c in commands().items() if _exists(c)], n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`nomospace --help` lists the commands"
    return f"there is no command {name!r}; {hint}"
