"""A process that works on what strangers wrote: run as a script, by `node.working` only.

It reads jobs from its input and writes their results, in parts, to its output. Memory is limited
from the start, processor time for each job. Whatever goes past a limit costs this process, and no
other. It imports no more than its jobs need, since the first of them waits for that.
"""

from __future__ import annotations

import math
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, Final

LENGTH: Final = struct.Struct(">IB")
"""Before each part: how long it is, and what."""
PART, END, ERROR, OVER, BROKEN = range(5)
"""A part; the end of a job; its error; it needs too much memory; it has met a fault of ours."""
QUICK_S: Final = 0.5
"""A job that takes more processor time than this is a long one; half of it may be imports."""
NICE: Final = 12
NICE_LONG: Final = 19
"""How far this process stands back from its first moment, and from its first long job on: one that
stands back less keeps a host on the same core waiting for milliseconds, each time it wakes up."""


def law(text: str, name: str) -> Iterator[bytes]:
    """A law, compiled."""
    from nomospace.law.parts import parts_of
    from nomospace.terms import Source

    return parts_of(Source(text, name))


def identity(text: str, name: str) -> Iterator[bytes]:
    """The hash of a sound law, and the name that it gives itself."""
    from nomospace.law.program import sound
    from nomospace.terms import Source

    tree, hash, _ = sound(Source(text, name))
    yield pickle.dumps((hash, tree.name))


def findings(text: str, name: str, most: int) -> Iterator[bytes]:
    """What there is to say of a text as a law; see `working.Examined`."""
    from nomospace.law.canon import law_hash
    from nomospace.law.program import examine
    from nomospace.terms import Source

    source = Source(text, name)
    tree, found = examine(source)
    severities = [one.severity for one in found]
    errors, warnings = severities.count("error"), severities.count("warning")
    drawn = [(one, source.place(one.span.start), one.render(source)) for one in found[:most]]
    hash = "" if errors else law_hash(tree)
    yield pickle.dumps((tree.name, hash, len(tree.rules), errors, warnings, drawn))


def layout(text: str, name: str) -> Iterator[bytes]:
    """A law of the first language in the one layout."""
    from nomospace.law.format import format_law

    yield pickle.dumps(format_law(text, name))


def difference(old: str, old_name: str, new: str, name: str) -> Iterator[bytes]:
    """How two laws differ, in words."""
    from nomospace.law.diff import diff_laws
    from nomospace.law.program import sound
    from nomospace.terms import Source

    before, after = sound(Source(old, old_name))[0], sound(Source(new, name))[0]
    yield pickle.dumps(diff_laws(before, after).render())


def ontology(
    hash: str, name: str, text: str, functions: list[tuple[str, int, int]]
) -> Iterator[bytes]:
    """Whether a text is a sound ontology: nothing, or its error."""
    from nomospace.calls.requests import OntologyText
    from nomospace.host.speaking import know_functions, read_told

    know_functions(functions)
    read_told(OntologyText(hash, name, text))
    return iter(())


def ontology_file(text: str, name: str, functions: list[tuple[str, int, int]]) -> Iterator[bytes]:
    """The file of an ontology, in any format: its hash, its name, and the text hosts go by."""
    from nomospace.host.speaking import know_functions, written_of

    know_functions(functions)
    yield pickle.dumps(written_of(text, name))


JOBS: Final[dict[str, Callable[..., Iterator[bytes]]]] = {
    job.__name__: job
    for job in (law, identity, findings, layout, difference, ontology, ontology_file)
}


def main() -> None:
    """Work until there is nobody to work for."""
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    memory, cpu_s = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which ends this one
    with suppress(ValueError, OSError):  # not every system bounds addresses
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _stand_back)
    while head := jobs.read(4):
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = math.ceil(used.ru_utime + used.ru_stime) + cpu_s
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        job, *given = pickle.loads(jobs.read(int.from_bytes(head)))
        signal.setitimer(signal.ITIMER_PROF, QUICK_S)
        if not _work(JOBS[job], given, results):
            return
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _stand_back(*_: object) -> None:
    """A job takes long."""
    os.nice(NICE_LONG - NICE)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)  # once is enough


def _work(job: Callable[..., Iterator[bytes]], given: list[Any], results: BinaryIO) -> bool:
    """Do a job; whether this process is fit for another one."""
    from nomospace.errors import NomospaceError

    fit, kind, last = True, END, b""
    try:
        for part in job(*given):
            _write(results, PART, part)
    except NomospaceError as error:
        kind, last = ERROR, pickle.dumps(error)
    except (MemoryError, RecursionError, SystemError):  # which is what it may say without memory
        fit, kind = False, OVER
    except Exception as error:
        fit, kind, last = False, BROKEN, f"{type(error).__name__}: {error}"[:1_000].encode()
    _write(results, kind, last)
    results.flush()
    return fit


def _write(results: BinaryIO, kind: int, data: bytes) -> None:
    results.write(LENGTH.pack(len(data), kind))
    results.write(data)


if __name__ == "__main__":
    main()
