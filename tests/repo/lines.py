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
    >>> code_lines("x = '''a\\n\\n# b'''\\n# c\\n")
    3
    """
    told: set[int] = set()
    long: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno:
            long.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    if long - told:  # in a text of several lines, those that are empty or have a # count as well
        found = _lines_with_tokens(text)
    else:
        lines = enumerate(text.splitlines(), 1)
        found = {number for number, line in lines if line.strip() and line.lstrip()[0] != "#"}
    return len(found - told)


def _lines_with_tokens(text: str) -> set[int]:
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SPACE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def lines_by_room(root: Path, package: str) -> dict[str, int]:
    """The code lines of each room of a package of a checkout."""
    rooms: dict[str, int] = {}
    folder = root / "src" / package
    for path in sorted(folder.rglob("*.py")):
        if not path.name.endswith(".law.py"):
            room = path.relative_to(folder).parts[0].removesuffix(".py")
            rooms[room] = rooms.get(room, 0) + code_lines(path.read_text("utf-8"))
    return rooms


if __name__ == "__main__":
    for package in PACKAGES:
        rooms = lines_by_room(Path(sys.argv[1]) if sys.argv[1:] else ROOT, package)
        print(f"{package:<14} {sum(rooms.values()):>7,}")
        for room, count in sorted(rooms.items(), key=lambda one: -one[1]):
            print(f"  {room:<12} {count:>7,}")
