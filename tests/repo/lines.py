"""Code lines of both packages, by room: no blank, comment or docstring lines.

`python -m tests.repo.lines [FOLDER]` prints them for this tree, or for another checkout.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import Final

from tests.repo.rooms import ROOT

PACKAGES: Final = ("nomospace", "nomospace_lab")
_SPACE: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def code_lines(text: str) -> int:
    """How many lines of a module say something to the machine.

    >>> code_lines('"Doc."\\n\\nx = 1  # why\\n# more\\ny = [\\n    2,\\n]\\n"About y."\\n')
    4
    """
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SPACE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - told)


def lines_by_room(root: Path) -> dict[str, dict[str, int]]:
    """The code lines of each room of each package of a checkout."""
    found: dict[str, dict[str, int]] = {}
    for package in PACKAGES:
        rooms = found.setdefault(package, {})
        folder = root / "src" / package
        for path in sorted(folder.rglob("*.py")):
            if not path.name.endswith(".law.py"):
                room = path.relative_to(folder).parts[0].removesuffix(".py")
                rooms[room] = rooms.get(room, 0) + code_lines(path.read_text("utf-8"))
    return found


if __name__ == "__main__":
    for package, rooms in lines_by_room(Path(sys.argv[1]) if sys.argv[1:] else ROOT).items():
        print(f"{package:<14} {sum(rooms.values()):>7,}")
        for room, count in sorted(rooms.items(), key=lambda one: -one[1]):
            print(f"  {room:<12} {count:>7,}")
