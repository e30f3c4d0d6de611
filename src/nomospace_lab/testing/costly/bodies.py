"""Bodies of requests that take as long to read as can be for their values and bytes.

A body is counted in pieces, read as JSON, and made a tuple or a template, with a pause after each.
A unit is paid for each `UNIT_BYTES`, and `PART_UNITS` for each part of the tuple (`api.forms`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, NamedTuple

from nomospace.api.forms import PARTS_MAX, fields_of, template_of, words_in
from nomospace.api.guard import BODY_BYTES_MAX
from nomospace.errors import NomospaceError
from nomospace.node.services.web import VALUES_MAX, counting
from nomospace.terms.templates import Template, freeze_tuple
from nomospace_lab.testing.costly import CostlyCase, Spent, case
from nomospace_lab.testing.costly.matching import numbers, some, words

UNIT_BYTES: Final = 32
"""Bytes of a body that cost a unit."""
WORD_PARTS: Final = 6
"""Parts that a word or sign in the text of a term counts as."""
PART_UNITS: Final = 8
"""What a part of a tuple costs."""


def _term(text: str) -> str:
    return json.dumps({"term": text}, ensure_ascii=False)


_WORDS: Final[dict[str, Callable[[int, int], str]]] = {
    "int": lambda at, size: str(at % 100),
    "big": lambda at, size: "1" * min(size + 20, 4_000),
    "float": lambda at, size: f"1.{'1' * size}",
    "small float": lambda at, size: f"{at}.5e-300",
    "null": lambda at, size: "null",
    "word": lambda at, size: f'"w{at}"',
    "text": lambda at, size: f'"{"x" * 10 * size}"',
    "é": lambda at, size: f'"{"é" * 5 * size}"',
    "quotes": lambda at, size: '"' + '\\"' * size + '"',
    "quoted": lambda at, size: '"' + '\\"a' * size + '"',
    "backslashes": lambda at, size: '"' + "\\\\" * size + '"',
    "escapes": lambda at, size: '"' + "\\u0041" * size + '"',
    "control": lambda at, size: '"' + "\\u0001" * size + '"',
    "half": lambda at, size: '"\\ud800"',
    "list": lambda at, size: "[1]",
    "empty list": lambda at, size: "[]",
    "empty dict": lambda at, size: "{}",
    "dict": lambda at, size: f'{{"k{at}": 1}}',
    "wide dict": lambda at, size: "{" + ",".join([f'"k{n}": 1' for n in range(size)]) + "}",
    "long key": lambda at, size: f'{{"{"k" * size}": 1}}',
    "nest": lambda at, size: "[" * min(size, 95) + "]" * min(size, 95),
    "dict nest": lambda at, size: '{"a":' * min(size, 95) + "1" + "}" * min(size, 95),
    "class": lambda at, size: '{"class": "Car", "id": 1, "properties": {"a": 1}}',
    "class nest": lambda at, size: (
        '{"class": "C", "properties": {"a":' * min(size, 45) + "1" + "}}" * min(size, 45)
    ),
    "inner dict": lambda at, size: '{"dict": {"term": 1}}',
    "term": lambda at, size: '{"term": "room(3)"}',
    "long term": lambda at, size: f'{{"term": "f({"a," * size}a)"}}',
    "deep term": lambda at, size: f'{{"term": "{"f(" * size}a{")" * size}"}}',
    "text term": lambda at, size: f'{{"term": "\'{"x" * size * 10}\'"}}',
    "escaped term": lambda at, size: _term("'" + "\\n" * size + "'"),
    "quoted term": lambda at, size: _term("'" + "''" * size + "'"),
    "open term": lambda at, size: _term("'" + "x" * 10 * size),
    "spaced term": lambda at, size: _term(" " * 10 * size + "a"),
    "comment term": lambda at, size: _term("/*" + " *" * size + "*/ a"),
    "digits term": lambda at, size: _term("1" * size),
    "bytes term": lambda at, size: _term("b'" + "00" * size + "'"),
    "odd term": lambda at, size: _term("é" * size),
    "text pattern": lambda at, size: json.dumps({"pattern": "_:'" + "x" * size + "'"}),
    "colon pattern": lambda at, size: json.dumps({"pattern": "a:" * size}),
    "pattern": lambda at, size: '{"pattern": "_:int"}',
    "cut": lambda at, size: "[",
}
WORDS: Final = tuple(_WORDS)
"""What bodies are made of."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A body by what it is made of."""

    parts: tuple[str, ...]
    count: int
    """How often the parts come."""
    size: int
    levels: int
    """How many lists stand around them."""
    template: bool

    def data(self) -> bytes:
        """The whole of it, as large as it may be."""
        made, held = list[str](), 0
        for at in range(self.count):
            for word in self.parts:
                one = _WORDS[word](at, self.size)
                held += len(one.encode()) + 1
                if held > BODY_BYTES_MAX - 1_000:
                    break
                made.append(one)
            else:
                continue
            break
        text = "[" * self.levels + ",".join(made) + "]" * self.levels
        return f'{{"fields":[{text}]}}'.encode()


class BodyCase(NamedTuple):
    """A body, how it is read, and its price."""

    data: bytes
    template: bool
    price: int


def _ready(draft: RequestBody) -> BodyCase:
    data = draft.data()
    heads = {b",": 1, b"[": 3, b"{": 6, b":": 3}
    parts = sum([data.count(head) * count for head, count in heads.items()])
    for word in draft.parts:
        if "term" in word or word == "pattern":
            [text] = json.loads(_WORDS[word](0, draft.size)).values()
            parts += draft.count * (WORD_PARTS * words_in(text) + len(text) // UNIT_BYTES)
    return BodyCase(
        data, draft.template, PART_UNITS * min(parts, PARTS_MAX) + len(data) // UNIT_BYTES
    )


def _read(body: BodyCase) -> Iterator[None]:
    """As a host reads it: counted in pieces, read, made a tuple or a template."""
    yield from counting(body.data)
    read: Any = json.loads(body.data)
    yield
    if body.template:
        Template.of(template_of(read["fields"]))
    else:
        freeze_tuple(fields_of(read["fields"]))
    yield


def _run(body: BodyCase) -> Spent:
    longest, steps = 0, _read(body)
    with suppress(NomospaceError, ValueError, RecursionError):
        while True:
            began = time.thread_time_ns()
            try:
                next(steps)
            except StopIteration:
                break
            finally:
                longest = max(longest, time.thread_time_ns() - began)
    return Spent(body.price, longest)


def _make(rng: Random) -> RequestBody:
    return RequestBody(
        some(rng, WORDS, 12),
        rng.choice((1, 10, 60, 1_000, 6_000)),
        rng.choice((0, 3, 100, 1_000, 300_000)),
        rng.choice((0, 0, 1, 1, 3, 90)),
        rng.random() < 0.5,
    )


def _mutate(rng: Random, one: RequestBody) -> RequestBody:
    roll = rng.random()
    if roll < 0.45:
        return replace(one, parts=words(rng, one.parts, WORDS, 64))
    if roll < 0.5:
        return replace(one, template=not one.template)
    most = {"count": VALUES_MAX, "size": 500_000, "levels": 120}
    return numbers(rng, one, most, ["count", "count", "size", "size", "levels"])


def _show(one: RequestBody) -> str:
    return f"{str(one)[:600]}; {len(one.data()):,} bytes"


case(
    CostlyCase(
        "body",
        _make,
        _mutate,
        _run,
        _show,
        _ready,
        unit=f"{UNIT_BYTES} bytes, or an eighth of a part",
        unit_ns=250,
    )
)
