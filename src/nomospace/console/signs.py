"""A font of the two signs that many systems lack: held (⏸) and obligation (⏳).

The console loads nothing from elsewhere, and a verdict must not turn into an empty box on a machine
whose fonts end early. So the two signs are drawn here, and put into the page as a TrueType font of
a kilobyte that is asked for these two characters only.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from itertools import accumulate
from struct import pack
from typing import Final

EM: Final = 1000
"""Units of an em; every sign is `ADVANCE` wide, and stands between `LOW` and `HIGH`."""
ADVANCE: Final = 900
LOW, HIGH = -200, 800
FAMILY: Final = "Nomospace Signs"
_Contour = tuple[tuple[int, int], ...]


def _box(left: int, low: int, right: int, high: int) -> _Contour:
    return ((left, low), (left, high), (right, high), (right, low))


GLYPHS: Final[dict[int, tuple[_Contour, ...]]] = {
    0x23F3: (
        _box(170, 650, 730, 720),
        _box(170, -20, 730, 50),
        ((230, 650), (670, 650), (450, 350)),
        ((450, 350), (670, 50), (230, 50)),
    ),
    0x23F8: (_box(210, 0, 380, 700), _box(520, 0, 690, 700)),
}
"""The outlines of each character, by its number, in units of the em."""


@cache
def style_sheet() -> str:
    """The rule that gives a page the two signs.

    >>> "U+23F3,U+23F8" in style_sheet(), len(style_sheet()) < 2_000
    (True, True)
    """
    data = b64encode(font()).decode()
    ranges = ",".join(f"U+{code:X}" for code in GLYPHS)
    return (
        f'@font-face{{font-family:"{FAMILY}";unicode-range:{ranges};'
        f'src:url("data:font/ttf;base64,{data}") format("truetype")}}'
    )


def font() -> bytes:
    """The font as TrueType has it: an empty glyph, as every font begins, and one for each sign."""
    glyphs = [b"", *[_outline(contours) for contours in GLYPHS.values()]]
    places = list(accumulate(map(len, glyphs), initial=0))
    count, first, last = len(glyphs), min(GLYPHS), max(GLYPHS)
    return _bound(
        {
            # Version, width, weight, ...; what is 0 here nobody asks of two signs.
            b"OS/2": pack(">HhHHH", 4, ADVANCE, 400, 5, 0)
            + bytes(22 + 10 + 16)
            + pack(">4sHHHhhhHH", b"NOMO", 64, first, last, HIGH, LOW, 0, HIGH, -LOW)
            + pack(">IIhhHHH", 1, 0, 500, 700, 0, 32, 0),
            b"cmap": _characters(),
            b"glyf": b"".join(glyphs),
            b"head": pack(">IIIIHH", 1 << 16, 1 << 16, 0, 0x5F0F3CF5, 11, EM)
            + bytes(16)
            + pack(">hhhhHHhhh", 0, LOW, ADVANCE, HIGH, 0, 8, 2, 1, 0),
            b"hhea": pack(">IhhhH", 1 << 16, HIGH, LOW, 0, ADVANCE) + bytes(22) + pack(">H", count),
            b"hmtx": pack(">Hh", ADVANCE, 0) * count,
            b"loca": pack(f">{count + 1}I", *places),
            b"maxp": pack(">IHHHHHH", 1 << 16, count, 32, 8, 0, 0, 2) + bytes(16),
            b"name": _names(),
            b"post": pack(">IIhh", 3 << 16, 0, -100, 50) + bytes(20),
        }
    )


def _outline(contours: tuple[_Contour, ...]) -> bytes:
    """A glyph of straight lines: its box, where contours end, and the way from point to point."""
    points = [point for contour in contours for point in contour]
    xs, ys = zip(*points, strict=True)
    ends = list(accumulate(map(len, contours)))
    told = pack(">hhhhh", len(contours), min(xs), min(ys), max(xs), max(ys))
    told += pack(f">{len(ends)}H", *[end - 1 for end in ends]) + pack(">H", 0)
    told += b"\x01" * len(points)
    for line in (xs, ys):
        steps = [there - here for here, there in zip((0, *line), line, strict=False)]
        told += pack(f">{len(steps)}h", *steps)
    return told + bytes(-len(told) % 4)


def _characters() -> bytes:
    """Which glyph stands for which character; a font has to end with one for 0xFFFF."""
    codes = [*GLYPHS, 0xFFFF]
    shifts = [(glyph - code) & 0xFFFF for glyph, code in enumerate(GLYPHS, 1)]
    table = pack(">HHHH", 2 * len(codes), 4, 1, 2) + pack(f">{len(codes)}H", *codes) + bytes(2)
    table += pack(f">{len(codes)}H", *codes) + pack(f">{len(codes)}H", *shifts, 1)
    table += bytes(2 * len(codes))
    return pack(">HHHHI", 0, 1, 3, 1, 12) + pack(">HHH", 4, 6 + len(table), 0) + table


def _names() -> bytes:
    texts = [text.encode("utf-16-be") for text in (FAMILY, "Regular", FAMILY, FAMILY)]
    places = accumulate(map(len, texts), initial=0)
    told = pack(">HHH", 0, len(texts), 6 + 12 * len(texts))
    for number, text, place in zip((1, 2, 4, 6), texts, places, strict=False):
        told += pack(">HHHHHH", 3, 1, 0x409, number, len(text), place)
    return told + b"".join(texts)


def _bound(tables: dict[bytes, bytes]) -> bytes:
    """The tables behind their list; the sum over all of it is a number that the format gives."""
    place = 12 + 16 * len(tables)
    listed, body = b"", b""
    for name, table in tables.items():
        padded = table + bytes(-len(table) % 4)
        listed += pack(">4sIII", name, _sum(padded), place + len(body), len(table))
        body += padded
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    head = pack(">IHHHH", 1 << 16, count, 16 * power, power.bit_length() - 1, 16 * (count - power))
    whole = head + listed + body
    at = place + sum(len(table) + -len(table) % 4 for table in list(tables.values())[:3]) + 8
    return whole[:at] + pack(">I", (0xB1B0AFBA - _sum(whole)) & 0xFFFFFFFF) + whole[at + 4 :]


def _sum(data: bytes) -> int:
    return (
        sum(int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)) & 0xFFFFFFFF
    )
