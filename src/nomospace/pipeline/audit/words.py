"""What an audit found, in plain sentences: the same for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from nomospace.pipeline.audit.found import AuditTables
from nomospace.pipeline.segments import Row, many, unsealed

NAMED_MAX: Final = 8
"""How many of a kind a sentence names; the rest is counted."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STOPPED: Final = {
    "budget": "the evaluation went past its budget",
    "tooLarge": "something grew too large",
    "typeError": "an operation met a value of the wrong type",
    "notGround": "something that must have a value had none",
    "notLocal": "an operation was not local to its agent",
}
OUTCOMES: Final = {
    "met": "met",
    "repealed": "repealed",
    "missed": "fell due",
    "owed": "still owed",
}
"""What became of an obligation, and how it is called."""


def sentences(found: AuditTables) -> dict[str, list[str]]:
    """Sentences by heading, in the order of a report."""
    return {
        "What happened": _happened(found),
        "Who was refused, and why": _refused(found),
        "Rules": _rules(found),
        "Spaces without law": _lawless(found),
        "Obligations": _obligations(found),
        "Load": _load(found),
        "Hops and time": _hops(found) + _latency(found),
        "What is missing": _missing(found),
    }


def render(found: AuditTables) -> str:
    """The summary for a terminal."""
    lines = [f"{found.engine}, {found.took_s:.1f} s"]
    for heading, told in sentences(found).items():
        if told:
            lines += ["", heading, *[f"  {sentence}" for sentence in told]]
    return "\n".join(lines)


def _happened(found: AuditTables) -> list[str]:
    row = found.overview
    if not row["events"]:
        return ["Nothing: the journal has no event of this time and community."]
    members, hosts = many(row["members"], "member"), many(row["hosts"], "host")
    where = f"{many(row['communities'], 'community', 'communities')} on {hosts}"
    laws = many(row["laws"], "law")
    span = duration(row["last_us"] - row["first_us"])
    told = [
        f"{many(row['events'], 'ruling')} of {members} in {where}, under {laws}.",
        f"From {moment(row['first_us'])} to {moment(row['last_us'])} (UTC): {span}.",
        f"Agents sent {many(row['sent'], 'message')}; {row['arrived']:,} arrived.",
    ]
    rhythm = found.tables["rhythm"]
    busiest = max(rhythm, key=lambda one: (one["events"], -one["us"]))
    told.append(
        f"The busiest step of {duration(found.width_us)} began at {moment(busiest['us'])}, with "
        f"{many(busiest['events'], 'ruling')} in {busiest['community']}."
    )
    if row["stopped"]:
        told.append(f"{many(row['stopped'], 'ruling')} stopped before a rule could answer.")
    return told


def _refused(found: AuditTables) -> list[str]:
    reasons, sent = found.tables["reasons"], found.overview["sent"]
    if not reasons:
        return ["Nobody: every message that was sent went out, or changed something."]
    told = [f"{found.refused:,} of {many(sent, 'message')} ({share(found.refused, sent)})."]
    told += [
        f"{row['refused']:,} × {row['about']} from {many(row['agents'], 'agent')} in "
        f"{row['community']}: {why(row)}."
        for row in reasons[:NAMED_MAX]
    ]
    if len(reasons) > NAMED_MAX:
        told.append(f"And {many(len(reasons) - NAMED_MAX, 'more kind')}.")
    agents: dict[str, int] = {}
    for row in found.tables["refusals"]:
        agents[row["agent"]] = agents.get(row["agent"], 0) + row["refused"]
    agent, times = min(agents.items(), key=lambda one: (-one[1], one[0]))
    told.append(f"Most often refused: {agent}, {many(times, 'time')}.")
    return told


def why(row: Row) -> str:
    """Why messages were refused, from a row of refusals or reasons."""
    if row.get("said"):
        last = "the last: " if row["refused"] > 1 else ""
        return last + str(row["said"]).removeprefix("Refused: ")
    if row["stopped"]:
        return f"no ruling, {_STOPPED.get(row['stopped'], row['stopped'])}"
    if row["rule"]:
        return f"ruled by {row['rule']}, which forwards nothing"
    return "no rule lets it through"


def _rules(found: AuditTables) -> list[str]:
    laws: dict[tuple[str, str], list[Row]] = {}
    for row in found.tables["coverage"]:
        laws.setdefault((row["community"], row["law"]), []).append(row)
    told: list[str] = []
    for (community, law), rules in laws.items():
        resting = [row["rule"] for row in rules if not row["hits"]]
        ruled = f"{len(rules) - len(resting)} of {many(len(rules), 'rule')}"
        line = f"Law {community} ({law[:12]}): {ruled} ruled at least once"
        told.append(f"{line}; never {named(resting)}." if resting else f"{line}.")
    return told


def _lawless(found: AuditTables) -> list[str]:
    spaces = found.tables["spaces"]
    if not spaces:
        return []
    total, lawless = spaces[0]["of_all"], spaces[0]["lawless"]
    if not lawless:
        return [f"None: all {many(total, 'operation')} on tuples passed a law."]
    told = [f"{lawless:,} of {many(total, 'operation')} on tuples passed no law."]
    open_ = [row for row in spaces if not row["governed"]]
    told += [
        f"{row['space']}: {row['written']:,} written and {row['taken']:,} taken by "
        f"{many(row['agents'], 'agent')}, from {moment(row['first_us'])} to "
        f"{moment(row['last_us'])}."
        for row in open_[:NAMED_MAX]
    ]
    if len(open_) > NAMED_MAX:
        told.append(f"And {many(len(open_) - NAMED_MAX, 'more space')}.")
    return told


def _obligations(found: AuditTables) -> list[str]:
    told: list[str] = []
    for (community, what), rows in by_obligation(found).items():
        total = sum(row["times"] for row in rows.values())
        parts = [
            f"{row['times']:,} {OUTCOMES[outcome]}{_after(outcome, row)}"
            for outcome in OUTCOMES
            if (row := rows.get(outcome)) is not None
        ]
        told.append(f"{what} in {community}: {total:,} imposed; {', '.join(parts)}.")
    late = [row for row in found.tables["lateness"] if row["most"]]
    told += [
        f"{row['what']} in {row['community']} was ruled on {duration(row['p50'])} after its time "
        f"in the median, at worst {duration(row['most'])}."
        for row in late[:NAMED_MAX]
    ]
    return told


def by_obligation(found: AuditTables) -> dict[tuple[str, str], dict[str, Row]]:
    """The rows of obligations by community and name, then by outcome."""
    grouped: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.tables["obligations"]:
        grouped.setdefault((row["community"], row["what"]), {})[row["outcome"]] = row
    return grouped


def _after(outcome: str, row: Row) -> str:
    if outcome in ("owed", "missed") or row["p50"] is None:  # what falls due does so in its time
        return ""
    return (
        f" (half of them within {duration(row['p50'])}, nearly all within {duration(row['p99'])})"
    )


def _load(found: AuditTables) -> list[str]:
    agents: dict[tuple[str, str], list[Row]] = {}
    for row in found.tables["load"]:
        agents.setdefault((row["community"], row["agent"]), []).append(row)
    ranked = sorted(agents.items(), key=lambda one: (-one[1][0]["mediates"], -_sum(one[1]), one[0]))
    told: list[str] = []
    for (community, agent), rows in ranked:
        role = "the mediator " if rows[0]["mediates"] else ""
        peak = max(rows, key=lambda row: (row["events"], -row["us"]))
        told.append(
            f"{role}{agent} in {community} handled {many(_sum(rows), 'event')}, at most "
            f"{peak['events']:,} in {duration(found.width_us)} (at {moment(peak['us'])})."
        )
    return [line[0].upper() + line[1:] if line.startswith("the ") else line for line in told]


def _sum(rows: list[Row]) -> int:
    return sum(row["events"] for row in rows)


def _hops(found: AuditTables) -> list[str]:
    rows = found.tables["hops"]
    total = sum(row["times"] for row in rows)
    if not total:
        return ["No message arrived."]
    travelled = sum(row["hops"] * row["times"] for row in rows)
    most = max(row["hops"] for row in rows)
    if not most:
        return [f"No hop is on record for the {many(total, 'message')} that arrived."]
    here = sum(row["times"] for row in rows if not row["hops"])
    mean = f"{travelled / total:.2f} hops in the mean, {most} at most"
    stayed = f"{here:,} ({share(here, total)}) never left their host"
    return [f"{many(total, 'message')} arrived after {mean}; {stayed}."]


def _latency(found: AuditTables) -> list[str]:
    rows = found.tables["latency"]
    if not rows:
        return ["How long rulings took is not on record."]
    return [
        f"A ruling on {row['event']} in {row['community']} took {_ns(row['p50'])} in the median, "
        f"{_ns(row['p99'])} at the 99th percentile, {_ns(row['most'])} at most "
        f"({row['times']:,} measured)."
        for row in rows
    ]


def _missing(found: AuditTables) -> list[str]:
    told = [f"Left out: {fault}." for fault in found.faults]
    told += [f"No text of law {hash[:12]}: its rules are not listed." for hash in found.lost_laws]
    if found.unhashed:
        told.append(f"{unsealed(found.unhashed)}.")
    if found.unreadable:
        told.append(f"The changes of {many(found.unreadable, 'row')} cannot be read.")
    return told


# -- figures ---------------------------------------------------------------------------------------


def share(part: int, whole: int) -> str:
    """A share in percent.

    >>> share(1, 8), share(0, 0)
    ('12.5 %', '0.0 %')
    """
    return f"{100 * part / whole if whole else 0.0:.1f} %"


def named(names: Sequence[object]) -> str:
    """Some names in a row, the rest counted.

    >>> named(["R1", "R2"]), named(list("abcdefghijk"))
    ('R1, R2', 'a, b, c, d, e, f, g, h and 3 more')
    """
    shown = ", ".join(map(str, names[:NAMED_MAX]))
    return shown + (f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else "")


def moment(us: int) -> str:
    """A moment to the second.

    >>> moment(1_767_225_600_000_000)
    '2026-01-01 00:00:00'
    """
    return f"{_EPOCH + timedelta(microseconds=us):%Y-%m-%d %H:%M:%S}"


def duration(us: int) -> str:
    """A time span in its two largest units.

    >>> duration(1_500), duration(60_000_000), duration(139_150_494), duration(90_000_000_000)
    ('1.5 ms', '1 min', '2 min 19 s', '1 d 1 h')
    """
    if us < 1_000:
        return f"{us} µs"
    if us < 1_000_000:
        return f"{us / 1e3:.3g} ms"
    if us < 60_000_000:
        return f"{us / 1e6:.3g} s"
    seconds = us // 1_000_000
    units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
    for (size, name), (smaller, other) in pairwise(units):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {name}" + (f" {rest} {other}" if rest else "")
    raise AssertionError(us)


def _ns(ns: int) -> str:
    return f"{ns / 1e3:.3g} µs" if ns < 1_000_000 else duration(ns // 1_000)
