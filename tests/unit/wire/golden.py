"""The bytes of everything that travels, on record: `python -m tests.unit.wire.golden` rewrites it.

A format that changes shows as a change of golden.json. Then a version has to change too, unless
nobody has frames or stores of the old format.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from nomospace.wire.calls import ANSWERS, REQUESTS
from nomospace.wire.packing import pack, unpack
from nomospace.wire.slots import CHANGES, FRAMES, SHAPES
from tests.unit.wire.made import example

PATH = Path(__file__).with_name("golden.json")
KINDS: list[type[msgspec.Struct]] = sorted(
    SHAPES.reached(*FRAMES.holds(), *CHANGES.holds(), *REQUESTS, *ANSWERS),
    key=lambda kind: (kind.__module__, kind.__qualname__),
)


def name(kind: type[msgspec.Struct]) -> str:
    """A class by its module and name, as the record has it."""
    return f"{kind.__module__.removeprefix('nomospace.')}.{kind.__name__}"


def written(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The bytes of the example of a class, and what they say to a reader who knows no class."""
    data = pack(SHAPES.lower(example(kind)))
    return {"says": repr(unpack(data)), "bytes": data.hex()}


def recorded() -> Any:
    """What is on record."""
    return json.loads(PATH.read_text("utf-8"))


if __name__ == "__main__":
    now = {name(kind): written(kind) for kind in KINDS}
    PATH.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", "utf-8")
