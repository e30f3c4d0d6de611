"""Laws written in Python, read by tests."""

from textwrap import dedent, indent

from nomospace.law.parse import parse
from nomospace.law.python import parse_python
from nomospace.law.tree import LawTree
from nomospace.terms import Diagnostic, Source
from tests.unit.law.shapes import law_shape

OPENING = 'law = Law("test")\n'
RULE = OPENING + "@law.sent(M, to=Y)\ndef rule(cs):\n"


def read(text: str) -> LawTree:
    source = Source(text)
    law, faults = parse_python(source)
    assert not faults, "\n".join(fault.render(source) for fault in faults)
    assert law.language == "python"
    return law


def read_law(text: str) -> LawTree:
    law, faults = parse(Source(text))
    assert not faults, faults
    return law


def faults_of(text: str) -> list[Diagnostic]:
    return parse_python(Source(text))[1]


def with_body(text: str) -> str:
    return RULE + indent(dedent(text).strip(), "    ") + "\n"


def assert_alike(python: str, law: str) -> None:
    assert law_shape(read(python)) == law_shape(read_law(law))
