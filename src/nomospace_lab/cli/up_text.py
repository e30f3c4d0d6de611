"""`nomospace up --text`: a simulated hospital at work under its law, live in the terminal.

On a terminal it draws a screen four times a second; anywhere else it writes plain lines. Either
way it goes faster than real time and ends on Ctrl-C with a short account.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from nomospace_lab.apps.hospital.live import Entry

FRAME_S = 0.25
STALL_S_MAX = 1.0
"""A pause of the process longer than this does not count: the hospital waits meanwhile."""
STYLES = {
    "forwarded": "green",
    "refused": "red",
    "held": "yellow",
    "obligation": "magenta",
    "note": "dim",
}
SEES = "Alarms in a simulated hospital: law AP rules on each message, at both ends."


def show_text(speed: float, for_s: float | None, seed: int) -> None:
    """Show a hospital at work: who raises which alarm, which rule rules, what is pending."""
    from rich.console import Console

    console = Console(highlight=False)
    run = _Run(seed, speed, for_s)
    before = signal.signal(signal.SIGINT, run.end)
    try:
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            _show_live(run, console)
        else:
            _show_plain(run)
    finally:
        signal.signal(signal.SIGINT, before)
    for line in run.account():
        print(line)


class _Run:
    """The hospital and how far it has come."""

    def __init__(self, seed: int, speed: float, for_s: float | None) -> None:
        from nomospace_lab.apps.hospital.live import LiveHospital

        self.hospital = LiveHospital(seed)
        self.seed = seed
        self.speed = speed
        self.for_s = for_s
        self.passed_s = 0.0
        self.began_us = self.hospital.clock.now
        self.ended = False

    def end(self, *_: object) -> None:
        """Ctrl-C: end after this frame, so that no step of the hospital is left half done."""
        self.ended = True

    def ticks(self) -> Iterator[None]:
        """Go on in real time, a frame at a time, until the time is up."""
        before = monotonic()
        yield
        while not self.ended and (self.for_s is None or self.passed_s < self.for_s):
            sleep(FRAME_S if self.for_s is None else min(FRAME_S, self.for_s - self.passed_s))
            now = monotonic()
            self.passed_s += min(now - before, STALL_S_MAX)
            before = now
            self.hospital.advance(self.began_us + int(self.passed_s * self.speed * 1_000_000))
            yield

    def clock(self) -> str:
        """The hospital's own time."""
        from nomospace_lab.sim import clock_text

        return clock_text(self.hospital.clock.now)[:8]

    def tries(self) -> list[tuple[str, str]]:
        """Commands to try next, each with what it shows."""
        nomospace = "./nomospace" if Path("nomospace").is_file() else "nomospace"
        return [
            (
                f'{nomospace} law explain {_law_file()} "sent(a,blockLay,b)"',
                "why nobody may just do that",
            ),
            (f"{nomospace} sim --seeds 20", "20 such hospitals with crashes, checked"),
            (f"{nomospace} sim --seed 7", "the whole story of one"),
        ]

    def counts(self) -> list[tuple[str, str]]:
        """Each verdict, and it in words with its sign and how often it was given."""
        from nomospace_lab.apps.hospital.live import SIGNS

        return [
            (word, f"{SIGNS[word]} {count:,} {word}{'s' * (word == 'obligation' and count != 1)}")
            for word, count in self.hospital.counts.items()
        ]

    def account(self) -> list[str]:
        """Four lines to end with."""
        hospital = self.hospital
        lasted_s = (hospital.clock.now - self.began_us) / 1_000_000
        counts = ", ".join(words for _, words in self.counts())
        return [
            f"The hospital worked for {_span(lasted_s)} of its own time in {self.passed_s:.0f} s.",
            f"{counts}; {len(hospital.pending())} pending.",
            f"{hospital.ruled:,} rulings, all by law AP ({hospital.law.hash[:12]}): {_law_file()}",
            f"Next: {self.tries()[1][0]}  ({self.tries()[1][1]})",
        ]


def _law_file() -> str:
    from nomospace import laws

    path = laws.path("ap")
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _span(seconds: float) -> str:
    """A stretch of time, as one would say it.

    >>> _span(192.4), _span(7), _span(7300)
    ('3 min 12 s', '7 s', '2 h 01 min')
    """
    whole = max(0, int(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"


# -- plain lines -----------------------------------------------------------------------------


def _show_plain(run: _Run) -> None:
    """A line for each deed once it has settled; no control codes."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    print(SEES)
    print(f"It runs {run.speed:g} times as fast as real time; Ctrl-C ends it. To try next:")
    for command, shows in run.tries():
        print(f"  {command}  ({shows})")
    told: set[int] = set()
    for _ in run.ticks():
        told = _tell_settled(run, told, all_of_them=False)
        sys.stdout.flush()
    _tell_settled(run, told, all_of_them=True)


def _tell_settled(run: _Run, told: set[int], *, all_of_them: bool) -> set[int]:
    """Print entries that do not change any more; which ones of the feed have been told."""
    from nomospace_lab.apps.hospital.live import SETTLE_US, SIGNS
    from nomospace_lab.sim import clock_text

    feed = run.hospital.feed
    for entry in feed:
        settled = all_of_them or entry.at < run.hospital.clock.now - SETTLE_US
        if id(entry) in told or not settled:
            continue
        told.add(id(entry))
        verdict = f"{SIGNS[entry.verdict]} {entry.verdict}"
        print(f"{clock_text(entry.at)[:8]}  {verdict:<12}  {entry.who} {entry.what}{_times(entry)}")
        if _because(entry):
            print(f"{'':24}{_because(entry)}")
    return told & {id(entry) for entry in feed}


def _times(entry: "Entry") -> str:
    return f"  ×{entry.times}" if entry.times > 1 else ""


def _because(entry: "Entry") -> str:
    """Rule, outcome and reason in one line.

    >>> from nomospace_lab.apps.hospital.live import Entry
    >>> _because(Entry(0, "forwarded", "ann@x", "raises fire", "R3", "she may", ["bob@x"]))
    'R3, reaches bob: she may'
    """
    lead = ", ".join(part for part in (entry.rule, entry.outcome) if part)
    return ": ".join(part for part in (lead, entry.why) if part)


# -- the screen ------------------------------------------------------------------------------


def _show_live(run: _Run, console: "Console") -> None:
    from rich.live import Live

    with Live(console=console, screen=True, auto_refresh=False) as live:
        for _ in run.ticks():
            live.update(screen(run, console.width, console.height), refresh=True)


def screen(run: _Run, width: int, height: int) -> "RenderableType":
    """All there is to see, in exactly the lines and columns that there are."""
    from rich.console import Group
    from rich.table import Table

    height = max(height, 1)
    head = _head(run, width, height)
    rows = height - len(head)
    if width >= 112 and height >= 18:
        side_width = min(56, width // 5 * 2)
        side = _side(run, rows)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=width - side_width - 3, no_wrap=True)
        table.add_column(width=side_width, no_wrap=True)
        table.add_row(Group(*_feed(run, rows)), Group(*side[:rows]))
        return Group(*head, table)
    below = _pending(run, min(6, rows // 4)) if height >= 20 else []
    return Group(*head, *_feed(run, rows - len(below)), *below)


def _line(*parts: "str | tuple[str, str]") -> "Text":
    from rich.text import Text

    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _head(run: _Run, width: int, height: int) -> "list[Text]":
    clock = _line(
        ("nomospace up", "bold blue"),
        ("  the hospital  ", "bold"),
        (run.clock(), "bold"),
        f"  {run.speed:g}× real time",
        ("  Ctrl-C ends", "dim"),
    )
    if height < 12 or width < 50:
        return [clock]
    counts = _line(
        *[part for verdict, words in run.counts() for part in ((words, STYLES[verdict]), "   ")],
        (f"{run.hospital.folded:,} routine ones folded", "dim"),
    )
    lines = [clock, _line(SEES), counts]
    if height >= 18:
        for number, (command, shows) in enumerate(run.tries()):
            lead = "try " if number == 0 else "    "
            lines.append(_line((lead, "dim"), (command, "blue"), (f"   {shows}", "dim")))
    return [*lines, _line("")]


def _feed(run: _Run, rows: int) -> "list[Text]":
    """The latest deeds that fit, oldest first, each with its reason below it."""
    from nomospace_lab.sim import clock_text

    lines: list[Text] = []
    for entry in reversed(run.hospital.feed):
        told = [
            _line(
                (f"{clock_text(entry.at)[:8]} ", "dim"),
                *_verdict(entry.verdict),
                (entry.who.partition("@")[0], "bold"),
                f" {entry.what}",
                (_times(entry), STYLES[entry.verdict]),
            )
        ]
        because = _because(entry)
        if because:
            told.append(_line(" " * 9, (because, "dim")))
        if len(lines) + len(told) > rows:
            break
        lines[:0] = told
    return lines + [_line("")] * (rows - len(lines))


def _verdict(word: str) -> "tuple[tuple[str, str], ...]":
    """Sign and word, in a column of their own: some signs are two cells wide."""
    from rich.cells import cell_len

    from nomospace_lab.apps.hospital.live import SIGNS

    text = f"{SIGNS[word]} {word}" if word != "note" else ""
    return ((text + " " * (14 - cell_len(text)), STYLES[word]),)


def _pending(run: _Run, rows: int) -> "list[Text]":
    """The obligations that come due first, with the time that is left."""
    found = run.hospital.pending()
    if rows < 2:
        return []
    now = run.hospital.clock.now
    lines = [_line((f"⏳ obligations pending: {len(found)}", "bold magenta"))]
    if not found:
        lines.append(_line(("none; a layman's alarm brings one to its inspector", "dim")))
    fits = rows - 1 if len(found) <= rows - 1 else rows - 2
    for _, due, who, what in found[:fits]:
        left = f"in {_span((due - now) / 1_000_000)}"
        lines.append(_line((f"{left:<14}", "magenta"), (who.partition("@")[0], "bold"), f" {what}"))
    if len(found) > fits:
        lines.append(_line((f"and {len(found) - fits} more", "dim")))
    return lines


def _side(run: _Run, rows: int) -> "list[Text]":
    """Obligations above, members below."""
    members = run.hospital.roles()
    pending = _pending(run, max(5, rows - len(members) - 2))
    lines = [*pending, _line(""), _line(("members", "bold blue"))]
    for who, roles, is_up in members:
        style = "" if is_up else "red"
        lines.append(_line((f"{who:<13}", "bold" if is_up else "bold red"), (roles, style)))
    return lines
