"""What an audit asks of a journal: each question once, as SQL, for every engine.

The questions are written in DuckDB's dialect and said in another through SQLGlot, so an audit on
Spark and one in DuckDB cannot drift apart. Three habits keep their answers equal to the last digit:

- Times are whole microseconds (`us`), sums are of whole numbers, and nothing is divided.
- A percentile is the least value that so many of a hundred values do not exceed, counted exactly.
- Every answer has an order of its own, in which no two rows are equal.

The tables that questions are asked of:

| table | is |
| --- | --- |
| `events` | the journal's table, or a part of it |
| `changes` | what became of obligations, made of `events` (`audit.tables`) |
| `rules` | the rules of the journal's laws (`audit.tables`) |
| `tuples` | the journal's table |
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlglot import exp, parse_one

_SPARK_FUNCTIONS: Final = {"EPOCH_US": "UNIX_MICROS", "MAKE_TIMESTAMPTZ": "TIMESTAMP_MICROS"}
"""What DuckDB and Spark call otherwise, and SQLGlot passes on as it is."""

ABOUT: Final = """
    CASE
        WHEN message_text LIKE '[%' THEN 'a list'
        WHEN message_text LIKE '''%' THEN 'a text'
        ELSE SUBSTR(SPLIT_PART(message_text, '(', 1), 1, 40)
    END
"""
"""A message by its first word. Free texts are not told apart: there is no end to them."""
_STILL: Final = "event = 'sent' AND OCTET_LENGTH(delta) = 1"
"""Sent, and nothing in the sender's control state changed: MessagePack's empty list is one byte."""


class AuditQuestion(NamedTuple):
    """One thing to ask: its SQL, and the tables that it reads. `:name` is a value to be given."""

    name: str
    sql: str
    tables: tuple[str, ...] = ("events",)

    def said(self, dialect: str, tables: dict[str, str], **values: int | str | None) -> str:
        """The question in a dialect, of tables that go by other names, with its values.

        >>> AuditQuestion("q", "SELECT EPOCH_US(\\"at\\") AS us FROM events WHERE hops > :n").said(
        ...     "spark", {"events": "journal"}, n=3)
        'SELECT UNIX_MICROS(`at`) AS us FROM journal AS events WHERE hops > 3'
        """
        tree = parse_one(self.sql, read="duckdb")
        for table in list(tree.find_all(exp.Table)):
            if table.name in tables:
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
                table.set("this", exp.to_identifier(tables[table.name], quoted=False))
        for hole in list(tree.find_all(exp.Placeholder)):
            hole.replace(exp.convert(values[hole.name]))
        if dialect == "spark":
            for call in tree.find_all(exp.Anonymous):
                call.set("this", _SPARK_FUNCTIONS.get(call.name.upper(), call.name))
        return tree.sql(dialect)


def _percentiles(source: str, keys: str, value: str) -> str:
    """Count, percentiles and the most of a value, for each combination of keys in a source.

    Values that are not known count as rows and not among the hundred.
    """
    return f"""
    WITH counted AS (
        SELECT {keys}, {value} AS value, COUNT(*) AS times FROM {source} GROUP BY {keys}, {value}
    ),
    known AS (
        SELECT *, CASE WHEN value IS NULL THEN 0 ELSE times END AS told FROM counted
    ),
    running AS (
        SELECT {keys}, value, times,
            SUM(told) OVER (
                PARTITION BY {keys} ORDER BY value
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS so_far,
            SUM(told) OVER (PARTITION BY {keys}) AS total
        FROM known
    )
    SELECT {keys},
        CAST(SUM(times) AS BIGINT) AS times,
        MIN(CASE WHEN so_far * 100 >= total * 50 THEN value END) AS p50,
        MIN(CASE WHEN so_far * 100 >= total * 90 THEN value END) AS p90,
        MIN(CASE WHEN so_far * 100 >= total * 99 THEN value END) AS p99,
        MAX(value) AS most
    FROM running GROUP BY {keys} ORDER BY {keys}
    """


CHOSEN: Final = AuditQuestion(
    "chosen",
    """
    SELECT * FROM events
    WHERE community <> ''
      AND (:since IS NULL OR "at" >= MAKE_TIMESTAMPTZ(:since))
      AND (:until IS NULL OR "at" < MAKE_TIMESTAMPTZ(:until))
      AND (:community IS NULL OR community = :community)
    """,
)
"""Hosts also note what befell agents under no law; those are no rulings of a community."""

STIRRING: Final = AuditQuestion(
    "stirring",
    f"""
    SELECT community, membership, agent, EPOCH_US("at") AS us, event, delta,
        CASE WHEN {_STILL} THEN rule END AS rule,
        CASE WHEN {_STILL} THEN {ABOUT} END AS about,
        CASE WHEN {_STILL} THEN message_text END AS message_text,
        CASE WHEN {_STILL} THEN ruling END AS ruling
    FROM events
    WHERE event = 'obligationDue'
       OR ruling_text LIKE '%bligation%'
       OR ({_STILL} AND ruling_text <> '[]' AND NOT ruling_text LIKE '[forward(%')
    """,
)
"""What SQL cannot decide: whose operations or changes must be read to know what happened."""

OVERVIEW: Final = AuditQuestion(
    "overview",
    """
    WITH parts AS (
        SELECT membership, community, host, law, COUNT(*) AS events,
            COUNT(*) FILTER (WHERE event = 'sent') AS sent,
            COUNT(*) FILTER (WHERE event = 'arrived') AS arrived,
            COUNT(*) FILTER (WHERE stopped IS NOT NULL) AS stopped,
            MIN(EPOCH_US("at")) AS first_us, MAX(EPOCH_US("at")) AS last_us
        FROM events GROUP BY membership, community, host, law
    )
    SELECT COALESCE(CAST(SUM(events) AS BIGINT), 0) AS events,
        COUNT(DISTINCT membership) AS members,
        COUNT(DISTINCT community) AS communities,
        COUNT(DISTINCT host) AS hosts,
        COUNT(DISTINCT law) AS laws,
        COALESCE(CAST(SUM(sent) AS BIGINT), 0) AS sent,
        COALESCE(CAST(SUM(arrived) AS BIGINT), 0) AS arrived,
        COALESCE(CAST(SUM(stopped) AS BIGINT), 0) AS stopped,
        MIN(first_us) AS first_us,
        MAX(last_us) AS last_us
    FROM parts
    """,
)
"""Distinct names are counted among few rows, not among all events."""

COVERAGE: Final = AuditQuestion(
    "coverage",
    """
    WITH parts AS (
        SELECT law, rule, agent, COUNT(*) AS hits,
            MIN(EPOCH_US("at")) AS first_us, MAX(EPOCH_US("at")) AS last_us
        FROM events WHERE rule IS NOT NULL GROUP BY law, rule, agent
    ),
    hits AS (
        SELECT law, rule, CAST(SUM(hits) AS BIGINT) AS hits, COUNT(*) AS agents,
            MIN(first_us) AS first_us, MAX(last_us) AS last_us
        FROM parts GROUP BY law, rule
    )
    SELECT r.community, r.law, r.number, r.rule, r.event, r.line, r.text,
        COALESCE(h.hits, 0) AS hits, COALESCE(h.agents, 0) AS agents, h.first_us, h.last_us
    FROM rules AS r LEFT JOIN hits AS h ON r.law = h.law AND r.rule = h.rule
    ORDER BY r.community, r.law, r.number
    """,
    ("events", "rules"),
)

REFUSALS: Final = AuditQuestion(
    "refusals",
    f"""
    WITH refused AS (
        SELECT community, agent, rule, stopped, {ABOUT} AS about, message_text,
            EPOCH_US("at") AS us
        FROM events WHERE {_STILL} AND ruling_text = '[]'
        UNION ALL
        SELECT community, agent, rule, NULL AS stopped, about, message_text, us
        FROM changes WHERE kind = 'refused'
    )
    SELECT community, COALESCE(rule, '') AS rule, COALESCE(stopped, '') AS stopped, about, agent,
        COUNT(*) AS refused, SUBSTR(MIN(message_text), 1, 160) AS example,
        MIN(us) AS first_us, MAX(us) AS last_us
    FROM refused GROUP BY community, rule, stopped, about, agent
    ORDER BY refused DESC, community, rule, stopped, about, agent
    """,
    ("events", "changes"),
)

REASONS: Final = AuditQuestion(
    "reasons",
    """
    SELECT community, rule, stopped, about, CAST(SUM(refused) AS BIGINT) AS refused,
        COUNT(*) AS agents, MIN(example) AS example,
        MIN(first_us) AS first_us, MAX(last_us) AS last_us
    FROM refusals GROUP BY community, rule, stopped, about
    ORDER BY refused DESC, community, rule, stopped, about
    """,
    ("refusals",),
)

DUTIES: Final = AuditQuestion(
    "duties",
    """
    WITH told AS (
        SELECT community, membership, place, MAX(agent) AS agent, MAX(what) AS what,
            MAX(CASE WHEN kind = 'imposed' THEN us END) AS imposed_us,
            MAX(CASE WHEN kind <> 'imposed' THEN us END) AS ended_us,
            COALESCE(MAX(CASE WHEN kind <> 'imposed' THEN due_us END), MAX(due_us)) AS due_us,
            MAX(kind) FILTER (WHERE kind <> 'imposed') AS ended
        FROM changes WHERE kind IN ('imposed', 'met', 'missed', 'repealed')
        GROUP BY community, membership, place
    )
    SELECT community, agent, membership, place, what, imposed_us, due_us, ended_us,
        COALESCE(ended, 'owed') AS outcome,
        ended_us - imposed_us AS delay_us,
        CASE WHEN ended = 'missed' THEN ended_us - due_us END AS late_us
    FROM told ORDER BY community, membership, place
    """,
    ("changes",),
)

UNREADABLE: Final = AuditQuestion(
    "unreadable", "SELECT COUNT(*) AS times FROM changes WHERE kind = 'unreadable'", ("changes",)
)
OBLIGATIONS: Final = AuditQuestion(
    "obligations", _percentiles("duties", "community, what, outcome", "delay_us"), ("duties",)
)
LATENESS: Final = AuditQuestion(
    "lateness",
    _percentiles("(SELECT * FROM duties WHERE late_us IS NOT NULL)", "community, what", "late_us"),
    ("duties",),
)

SPACES: Final = AuditQuestion(
    "spaces",
    """
    WITH ruled AS (
        SELECT DISTINCT host, agent AS space FROM events
        WHERE community <> '' AND NOT agent LIKE '%@%'
    ),
    done AS (
        SELECT t.space, t.agent, CASE WHEN r.space IS NULL THEN 0 ELSE 1 END AS governed, t.op,
            EPOCH_US(t."at") AS us
        FROM tuples AS t LEFT JOIN ruled AS r ON t.host = r.host AND t.space = r.space
        WHERE t.op IN ('written', 'taken')
          AND (:since IS NULL OR t."at" >= MAKE_TIMESTAMPTZ(:since))
          AND (:until IS NULL OR t."at" < MAKE_TIMESTAMPTZ(:until))
    ),
    counted AS (
        SELECT space, governed, COUNT(*) AS operations,
            COUNT(*) FILTER (WHERE op = 'written') AS written,
            COUNT(*) FILTER (WHERE op = 'taken') AS taken,
            COUNT(DISTINCT agent) AS agents, MIN(us) AS first_us, MAX(us) AS last_us
        FROM done GROUP BY space, governed
    )
    SELECT *,
        CAST(SUM(operations) OVER () AS BIGINT) AS of_all,
        CAST(SUM(CASE WHEN governed = 0 THEN operations ELSE 0 END) OVER () AS BIGINT) AS lawless
    FROM counted ORDER BY governed, operations DESC, space
    """,
    ("events", "tuples"),
)
"""Tuples written and taken, by space. The manager of a space under law rules as an agent of that
name, on each host that has the space; `events` is here the whole journal, whatever the time."""

LOAD: Final = AuditQuestion(
    "load",
    """
    WITH busy AS (
        SELECT community, agent, COUNT(*) AS handled,
            MAX(CASE WHEN event IN ('certified', 'adopted') AND (
                ruling_text LIKE '%+mediator,%' OR ruling_text LIKE '%+mediator]'
            ) THEN 1 ELSE 0 END) AS mediates
        FROM events GROUP BY community, agent
        ORDER BY mediates DESC, handled DESC, community, agent LIMIT :agents
    )
    SELECT e.community, e.agent, MAX(b.mediates) AS mediates,
        EPOCH_US(e."at") - EPOCH_US(e."at") % :width AS us,
        COUNT(*) FILTER (WHERE e.event = 'arrived') AS arrived,
        COUNT(*) FILTER (WHERE e.event = 'sent') AS sent,
        COUNT(*) AS events
    FROM events AS e JOIN busy AS b ON e.agent = b.agent AND e.community = b.community
    GROUP BY e.community, e.agent, EPOCH_US(e."at") - EPOCH_US(e."at") % :width
    ORDER BY e.community, e.agent, us
    """,
)

HOPS: Final = AuditQuestion(
    "hops",
    """
    SELECT community, hops, COUNT(*) AS times FROM events
    WHERE event = 'arrived' GROUP BY community, hops ORDER BY community, hops
    """,
)

LATENCY: Final = AuditQuestion(
    "latency",
    _percentiles(
        "(SELECT community, event, took_ns - took_ns % 100 AS took FROM events WHERE took_ns > 0)",
        "community, event",
        "took",
    ),
)
"""In nanoseconds, to the tenth of a microsecond: no clock is finer, and few values differ then."""

RHYTHM: Final = AuditQuestion(
    "rhythm",
    """
    SELECT community, EPOCH_US("at") - EPOCH_US("at") % :width AS us, COUNT(*) AS events,
        COUNT(*) FILTER (WHERE event = 'sent') AS sent
    FROM events GROUP BY community, EPOCH_US("at") - EPOCH_US("at") % :width
    ORDER BY community, us
    """,
)
