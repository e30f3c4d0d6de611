"""Makes `hospital.svg` from what `nomospace up --text` draws; `message.svg` is drawn by hand.

Run it from the root of a checkout: `.venv/bin/python docs/pictures/make.py`. The same seed gives
the same picture.
"""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from nomospace_lab.cli.up_text import _Run, screen

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT = 104, 34
MINUTES = 17
# rich's own format fetches a font from elsewhere; a picture in a repository should not.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def hospital() -> str:
    """The screen of `nomospace up --text`, some minutes into the hospital's day."""
    run = _Run(seed=1, speed=30.0, for_s=None)
    run.hospital.advance(run.began_us + MINUTES * 60_000_000)
    console = Console(
        record=True, width=WIDTH, height=HEIGHT, file=io.StringIO(), force_terminal=True
    )
    console.print(screen(run, WIDTH, HEIGHT))
    return console.export_svg(
        title="./nomospace up --text",
        theme=SVG_EXPORT_THEME,
        code_format=FORMAT,
        unique_id="nomospace-up",
    )


if __name__ == "__main__":
    (HERE / "hospital.svg").write_text(hospital(), encoding="utf-8")
