"""What a console has done by child processes: runs of events, comparisons of laws, sealing."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import msgspec

from nomospace.law import CompiledLaw, load


class LawGiven(msgspec.Struct, frozen=True):
    """A law's text, and the name that tells its language."""

    name: str
    text: str

    def load(self) -> CompiledLaw:
        """The law; raises `Faulty`."""
        return load(self.text, self.name)


class RunEvents(msgspec.Struct, frozen=True, tag="run"):
    """Rule on events in virtual time."""

    law: LawGiven
    events: str
    until: float | None = None
    isolated: bool = False


class CompareLaws(msgspec.Struct, frozen=True, tag="compare"):
    """Tell what hosts recorded to two laws; `None` is the one that was in force.

    `folder` is what `tails.copy_journals` made.
    """

    folder: str
    community: str
    before: LawGiven | None
    after: LawGiven


class SealTails(msgspec.Struct, frozen=True, tag="seal"):
    """Make segments of what `tails.copy_journals` put into a folder."""

    folder: str


Work: TypeAlias = RunEvents | CompareLaws | SealTails
_decode = msgspec.json.Decoder(Work)


def decode_work(data: bytes) -> Work:
    """The work that a parent gave."""
    work: Work = _decode.decode(data)
    return work


def do(work: Work) -> bytes:
    """Do it; the answer as JSON.

    >>> law = LawGiven("l.law", "law(l). R1. sent(X, M, Y) :- do(forward).")
    >>> line = '{"at": 1, "home": "a@w", "event": "sent", "message": "hi", "to": "b@w"}'
    >>> [one["rule"] for one in msgspec.json.decode(do(RunEvents(law, line)))["steps"]]
    ['R1', None]
    """
    return msgspec.json.encode(_done(work))


def _done(work: Work) -> object:
    if isinstance(work, RunEvents):
        return _run(work)
    from nomospace.cli.console.tails import JOURNAL, seal_tails

    if isinstance(work, SealTails):
        seal_tails(Path(work.folder))
        return {}
    from nomospace.pipeline.comparing import compare

    before = None if work.before is None else work.before.load()
    after = work.after.load()
    seal_tails(Path(work.folder))
    return compare(Path(work.folder) / JOURNAL, before, after, community=work.community)


def _run(work: RunEvents) -> dict[str, object]:
    from nomospace.scenarios.lawrun import BadLine, Endless
    from nomospace.scenarios.steps import Steps

    steps = Steps(work.law.load(), isolated=work.isolated, until=work.until)
    found: list[dict[str, object]] = []
    fault = ""
    try:
        lines = [f"{line}\n".encode() for line in work.events.split("\n")]
        found.extend(steps.read(lines, "events"))
    except (BadLine, Endless) as error:
        fault = str(error)  # what was ruled on before it stands
    return {"steps": found, "notes": steps.notes, "cut": steps.cut, "fault": fault}
