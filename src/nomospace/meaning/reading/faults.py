"""Faults in the files of an ontology: each with its place, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from nomospace.errors import CallerError
from nomospace.meaning.reading.drafts import NamedPiece, SourcePlace
from nomospace.terms.source import Diagnostic

FAULTS_MAX: Final = 50
"""How many faults are told at once; who has more has one fault many times."""
NEAR_MAX: Final = 10
"""How many faults get the nearest known name looked up."""
STEPS_MAX: Final = 20_000_000
"""How many steps from class to parent the checks of one ontology may take: some seconds of work."""
NEAR_NAMES_MAX: Final = 5_000
"""Among more names than this none is proposed for a misspelt one: it would take too long."""


class OntologyFault(NamedTuple):
    """One thing wrong."""

    code: str
    message: str
    place: SourcePlace
    help: str = ""

    def render(self, severity: str = "error") -> str:
        """The fault as a person wants to read it, with a caret where the place is known."""
        span = self.place.span
        if span is not None:
            found = Diagnostic(self.code, self.message, span, self.help, severity=severity)
            return found.render(self.place.source)
        words = f"{self.place.source.name}: {severity} [{self.code}] {self.message}"
        return f"{words}\n      help: {self.help}" if self.help else words


class FaultyOntology(CallerError):
    """An ontology, or a mapping of two, cannot be used; all that was found wrong is here."""

    code = "ontology.faulty"
    faults: tuple[OntologyFault, ...]
    more: int = 0

    def __str__(self) -> str:
        words = [fault.render() for fault in self.faults]
        if self.more:
            words.append(f"... and {self.more:,} more")
        return "\n".join(words)


class Faults:
    """Collects faults, so that an author sees all of them and not only the first."""

    def __init__(self) -> None:
        self.found: list[OntologyFault] = []
        self.warnings: list[OntologyFault] = []
        self.more = 0
        self.steps = 0

    def add(self, code: str, message: str, place: SourcePlace, help: str = "") -> None:
        if len(self.found) >= FAULTS_MAX:
            self.more += 1
        else:
            self.found.append(OntologyFault(f"ontology.{code}", message, place, help))

    def warn(self, code: str, message: str, place: SourcePlace, help: str = "") -> None:
        if len(self.warnings) < FAULTS_MAX:
            self.warnings.append(OntologyFault(f"ontology.{code}", message, place, help))

    def unknown(
        self, code: str, message: str, name: NamedPiece, known: Iterable[str], otherwise: str
    ) -> None:
        """A name that nobody knows, with the nearest that is known; else what to do.

        It is looked for for the first faults only: that takes long where there are many names.
        """
        help = near(name.text, known, otherwise) if len(self.found) < NEAR_MAX else otherwise
        self.add(code, message, name.place, help)

    def spend(self, steps: int, place: SourcePlace) -> None:
        """Count steps of a check that follows parents; a file may not ask for too many."""
        self.steps += steps
        if self.steps > STEPS_MAX:
            words = f"to check it takes over {STEPS_MAX:,} steps from class to parent"
            raise self.stop("limit", words, place, "make the hierarchy flatter, or split it")

    def stop(self, code: str, message: str, place: SourcePlace, help: str = "") -> FaultyOntology:
        """The error for a fault after which nothing more can be said."""
        self.add(code, message, place, help)
        return self.error()

    def error(self) -> FaultyOntology:
        """All faults, file by file in the order of their texts."""
        found = sorted(self.found, key=lambda fault: (fault.place.source.name, fault.place.start))
        return FaultyOntology(faults=tuple(found), more=self.more)

    def check(self) -> None:
        """Raise what was found, if anything was."""
        if self.found:
            raise self.error()


def near(name: str, known: Iterable[str], otherwise: str) -> str:
    """A next step for a name that nobody knows: the nearest known one, or other words.

    >>> near("Carr", ["Car", "Van"], "declare it")
    'did you mean Car?'
    """
    from difflib import get_close_matches

    names = list(known)
    if len(names) > NEAR_NAMES_MAX:
        return otherwise
    found = get_close_matches(name, names, n=1)
    return f"did you mean {found[0]}?" if found else otherwise
