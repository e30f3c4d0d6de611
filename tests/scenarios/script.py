"""Scripts of commands with their full output.

    === rate.law                    a file, up to the next mark
    $ nomospace law check rate.law  a command, and what it prints;
    ! words                         a line on stderr,
    [exit 2]                        and the exit code when it is not 0

Files stand before the commands that use them. `< NAME` after a command gives it a file on stdin,
`2>/dev/null` leaves out what it says on stderr.
A command is run in this process, in a folder of its own, unless it begins with `$$`: then it is a
process of its own.
"""

import contextlib
import io
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from nomospace.cli import main


@dataclass
class Command:
    words: str
    output: list[str] = field(default_factory=list)


@dataclass
class File:
    name: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Remark:
    lines: list[str] = field(default_factory=list)


Part = Command | File | Remark


def read(text: str) -> list[Part]:
    parts: list[Part] = [Remark()]
    for line in text.split("\n"):
        if line.startswith("=== "):
            parts.append(File(line[4:]))
        elif line.startswith("$"):
            parts.append(Command(line))
        elif isinstance(parts[-1], Command):
            if not line:  # an empty line ends what a command prints
                parts.append(Remark([line]))
            else:
                parts[-1].output.append(line)
        else:
            parts[-1].lines.append(line)
    return parts


def write(parts: list[Part]) -> str:
    lines: list[str] = []
    for part in parts:
        if isinstance(part, File):
            lines += [f"=== {part.name}", *part.lines]
        elif isinstance(part, Command):
            lines += [part.words, *part.output]
        else:
            lines += part.lines
    return "\n".join(lines)


def play(parts: list[Part], folder: Path) -> list[Part]:
    """The same script with what its commands really print."""
    done: list[Part] = []
    for part in parts:
        if isinstance(part, File):
            text = "\n".join(part.lines).strip("\n")
            (folder / part.name).write_text(f"{text}\n", encoding="utf-8")
        done.append(
            Command(part.words, run(part.words, folder)) if isinstance(part, Command) else part
        )
    return done


def run(words: str, folder: Path) -> list[str]:
    """What a command prints, with its marks; empty lines are shown as `.`."""
    words, quiet, _ = words.partition(" 2>/dev/null")
    arguments, _, given = words.lstrip("$ ").partition(" < ")
    name, *rest = shlex.split(arguments)
    assert name == "nomospace", words
    stdin = (folder / given.strip()).read_bytes() if given else b""
    execute = _process if words.startswith("$$") else _in_process
    code, out, err = execute(rest, folder, stdin)
    lines = [line or "." for line in out.removesuffix("\n").split("\n")] if out else []
    lines += (
        [f"! {line}" for line in err.removesuffix("\n").split("\n")] if err and not quiet else []
    )
    return lines + ([f"[exit {code}]"] if code else [])


def _process(arguments: list[str], folder: Path, stdin: bytes) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "nomospace.cli", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _in_process(arguments: list[str], folder: Path, stdin: bytes) -> tuple[int, str, str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(arguments)
    finally:
        sys.stdin = before
    shown = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        shown.append(stream.read())
    return code, shown[0], shown[1]
