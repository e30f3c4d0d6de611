"""What an audit found as one HTML page: sentences, plots and tables, with nothing to fetch.

The page follows the reader's light or dark, and prints. All that comes from the journal is escaped:
names of agents and texts of messages were chosen by whoever sent them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from nomospace.pipeline.audit.found import AuditTables
from nomospace.pipeline.audit.words import OUTCOMES, by_obligation, duration, moment, sentences, why
from nomospace.pipeline.charts import COLOURS, Chart, as_svg, bars, timeline
from nomospace.pipeline.segments import Row

ROWS_SHOWN: Final = 50
"""How many rows of a table the page shows; the Parquet or JSON beside it has them all."""
WORDS_SHORT: Final = 32
"""Texts of so many letters stay on one line of a table."""
_DARK: Final = {
    "ink": "#e8eaed",
    "faint": "#9aa3ae",
    "grid": "#33393f",
    "c0": "#6fb1ee",
    "c1": "#ee9a5f",
    "c2": "#6fcf97",
    "c3": "#c39bf0",
    "c4": "#e0bb4b",
    "c5": "#f0839f",
}
_STYLE: Final = """
*{box-sizing:border-box}
body{margin:0 auto;padding:2.5rem 1.25rem 4rem;max-width:56rem;background:var(--paper);
color:var(--ink);font:16px/1.55 system-ui,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.15rem;margin:2.6rem 0 .5rem;padding-top:.7rem;border-top:1px solid var(--grid)}
p{margin:.35rem 0}.lead{color:var(--faint);font-size:.9rem}
figure{margin:1.1rem 0}figcaption{font-size:.85rem;color:var(--faint);margin-bottom:.3rem}
svg{display:block;width:100%;height:auto;font-family:inherit}
.wide{overflow:auto;max-height:27rem;margin:.8rem 0;border-bottom:1px solid var(--grid)}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:.85rem}
th{text-align:left;font-weight:600;color:var(--faint);position:sticky;top:0;
background:var(--paper)}
th,td{padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--grid);white-space:nowrap}
tbody tr:last-child td{border-bottom:0}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.w{white-space:normal;min-width:12rem}
td.c{width:100%;max-width:12rem;overflow:hidden;text-overflow:ellipsis;padding-right:0}
code{font:.92em ui-monospace,monospace}
.rest td{color:var(--c1)}
@media print{body{max-width:none;padding:0;font-size:11pt}h2,figure,tr{break-inside:avoid}
h2{break-after:avoid}.wide{max-height:none;overflow:visible}th{position:static}
td,td.c{white-space:normal;overflow-wrap:anywhere}}
"""


def charts_of(found: AuditTables) -> dict[str, list[Chart]]:
    """The charts of an audit by the heading that they belong to; none where there is no figure."""
    charts: dict[str, list[Chart]] = {}
    step = duration(found.width_us)
    if found.tables["rhythm"]:
        series = _series(found.tables["rhythm"], "community")
        says = f"Rulings by community in steps of {step}"
        charts["What happened"] = [timeline("rhythm", says, series, found.width_us)]
    if found.tables["reasons"]:
        rows = [
            (f"{row['about']} ({row['rule'] or row['stopped'] or 'no rule'})", row["refused"])
            for row in found.tables["reasons"]
        ]
        charts["Who was refused, and why"] = [_plain("refusals", "Refused messages", rows, "c1")]
    if found.tables["coverage"]:
        many = len({row["law"] for row in found.tables["coverage"]}) > 1
        rows = [
            (f"{row['community']} {row['rule']}" if many else row["rule"], row["hits"])
            for row in found.tables["coverage"]
        ]
        charts["Rules"] = [_plain("rules", "How often each rule ruled", rows, "c0")]
    obligations = by_obligation(found)
    if obligations:
        parts = [
            (what, {OUTCOMES[name]: rows[name]["times"] for name in OUTCOMES if name in rows})
            for (_, what), rows in obligations.items()
        ]
        colours = dict(zip(OUTCOMES.values(), ("c2", "c0", "c1", "grid"), strict=True))
        says = "What became of obligations"
        charts["Obligations"] = [bars("obligations", says, parts, colours=colours)]
    if found.tables["load"]:
        series = _series(found.tables["load"], "agent")
        says = f"Events of the busiest agents in steps of {step}"
        charts["Load"] = [timeline("load", says, series, found.width_us)]
    hops: dict[int, int] = {}
    for row in found.tables["hops"]:
        hops[row["hops"]] = hops.get(row["hops"], 0) + row["times"]
    if any(hops):
        rows = [(str(count), times) for count, times in sorted(hops.items())]
        charts["Hops and time"] = [_plain("hops", "Arrivals by the hops they took", rows, "c3")]
    return charts


def _plain(name: str, says: str, rows: Sequence[tuple[str, int]], colour: str) -> Chart:
    return bars(name, says, [(label, {"": n}) for label, n in rows], colours={"": colour})


def _series(rows: list[Row], key: str) -> dict[str, dict[int, int]]:
    """Counts by time for each name, those with most first."""
    series: dict[str, dict[int, int]] = {}
    for row in rows:
        counts = series.setdefault(row[key], {})
        counts[row["us"]] = counts.get(row["us"], 0) + row["events"]
    ranked = sorted(series.items(), key=lambda one: (-sum(one[1].values()), one[0]))
    return dict(ranked)


def make_page(found: AuditTables, charts: dict[str, list[Chart]]) -> str:
    """The page, whole."""
    title = "Audit of " + ", ".join(found.journals)
    tables = _tables(found)
    body: list[str] = []
    for heading, told in sentences(found).items():
        if not told:
            continue
        body.append(f"<h2>{escape(heading)}</h2>")
        body += [f"<p>{escape(sentence)}</p>" for sentence in told]
        for chart in charts.get(heading, []):
            caption = f"<figcaption>{escape(chart.says)}</figcaption>"
            body.append(f"<figure>{caption}{as_svg(chart)}</figure>")
        body.append(tables.get(heading, ""))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{_colours()}{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(found.engine)}, {found.took_s:.1f} s</p>',
            *body,
            "</body></html>",
            "",
        ]
    )


def _colours() -> str:
    light = "".join(f"--{name}:{value};" for name, value in COLOURS.items())
    dark = "".join(f"--{name}:{value};" for name, value in _DARK.items())
    fills = "".join(
        f"rect.{name},text.{name}{{fill:var(--{name})}}"
        f"polyline.{name}{{stroke:var(--{name});fill:none;stroke-linejoin:round}}"
        for name in COLOURS
    )
    return (
        f":root{{--paper:#fff;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{--paper:#16191d;{dark}}}}}{fills}"
    )


def _tables(found: AuditTables) -> dict[str, str]:
    refusals = [
        (r["agent"], r["about"], why(r), r["refused"], moment(r["last_us"]), CodeText(r["example"]))
        for r in found.tables["refusals"]
    ]
    rules = [
        (r["rule"], r["line"], CodeText(r["text"]), r["hits"], r["agents"])
        for r in found.tables["coverage"]
    ]
    obligations = [
        (what, OUTCOMES[outcome], row["times"], *[_delay(row[p]) for p in ("p50", "p90", "most")])
        for (_, what), rows in by_obligation(found).items()
        for outcome, row in rows.items()
    ]
    return {
        "Who was refused, and why": _table(
            ("agent", "message", "why", "times", "last", "for instance"), refusals
        ),
        "Rules": _table(("rule", "line", "head", "rulings", "agents"), rules, rest=3),
        "Obligations": _table(
            ("obligation", "outcome", "times", "half within", "nine of ten", "at most"), obligations
        ),
    }


class CodeText(str):
    """A text that is shown as it would be written in a program."""

    __slots__ = ()


def _delay(us: int | None) -> str:
    return "–" if us is None else duration(us)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], *, rest: int | None = None
) -> str:
    """A table; rows whose column `rest` is 0 stand out."""
    if not rows:
        return ""
    numbers = [isinstance(value, int) for value in rows[0]]
    of = ['<th class="n">' if number else "<th>" for number in numbers]
    head = "".join(f"{tag}{escape(name)}</th>" for tag, name in zip(of, heads, strict=True))
    lines = [f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>']
    for row in rows[:ROWS_SHOWN]:
        mark = ' class="rest"' if rest is not None and row[rest] == 0 else ""
        lines.append(f"<tr{mark}>{''.join(map(_cell, row))}</tr>")
    lines.append("</tbody></table></div>")
    if len(rows) > ROWS_SHOWN:
        lines.append(f'<p class="lead">And {len(rows) - ROWS_SHOWN:,} more rows.</p>')
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    words = escape(str(value))
    if isinstance(value, CodeText):  # all of it is there for who points at it, and on paper
        return f'<td class="c" title="{words}"><code>{words}</code></td>'
    return f'<td class="w">{words}</td>' if len(words) > WORDS_SHORT else f"<td>{words}</td>"
