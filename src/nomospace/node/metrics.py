"""Numbers about a host, in the form that Prometheus reads.

Counting must cost nothing where it is hot: a count is an addition in a dictionary, and what others
count already (frames of a transport, lengths of queues) is only read when somebody looks. The
library that writes the format is imported then too.

All numbers are in `KNOWN`, with their meaning; their names on the page begin with `nomospace_`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nomospace.space.waits import BOUNDS_S

if TYPE_CHECKING:
    from nomospace.node.within import Kept

SERIES_MAX: Final = 1_000
"""How many labels one number can have; further ones count as `other`."""
PRIVATE: Final = "(private)"
"""The label of all spaces that agents have for themselves, together."""
BUCKETS_S: Final = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)


class MetricMeaning(NamedTuple):
    """What a number is: `counter`, `gauge` or `histogram`, its label if it has one, in words."""

    kind: str
    label: str
    help: str


KNOWN: Final[Mapping[str, MetricMeaning]] = {
    "frames_in": MetricMeaning("counter", "", "frames that came from other hosts"),
    "frames_out": MetricMeaning("counter", "", "frames that went to other hosts"),
    "bytes_in": MetricMeaning("counter", "", "bytes that came from other hosts"),
    "bytes_out": MetricMeaning("counter", "", "bytes that went to other hosts"),
    "frames_dropped": MetricMeaning(
        "counter", "", "frames that were not sent: a slow or absent peer"
    ),
    "notes": MetricMeaning("counter", "what", "what happened beside the way, refusals among it"),
    "calls": MetricMeaning("counter", "kind", "calls of agents, by kind"),
    "refusals": MetricMeaning("counter", "code", "calls that were answered with an error, by code"),
    "watches": MetricMeaning(
        "counter", "what", "calls of other hosts that wait here too, and such that were spared"
    ),
    "steps": MetricMeaning("counter", "", "steps of the host's core"),
    "standby": MetricMeaning(
        "gauge", "what", "whether the standby follows, and how many commits it lags"
    ),
    "commits": MetricMeaning("counter", "", "transactions of the store"),
    "commit_seconds": MetricMeaning("histogram", "", "how long a transaction of the store takes"),
    "commit_steps": MetricMeaning("counter", "", "steps that were kept, many in one transaction"),
    "connections": MetricMeaning("gauge", "", "connections to the host's port"),
    "strangers": MetricMeaning("gauge", "", "connections that have not said who they are"),
    "neighbours": MetricMeaning("gauge", "", "hosts that this one is linked with"),
    "members": MetricMeaning("gauge", "", "hosts of the group"),
    "agents": MetricMeaning("gauge", "", "agents that are here"),
    "sessions": MetricMeaning("gauge", "", "sessions of remote agents"),
    "queue": MetricMeaning("gauge", "what", "how much waits, by queue"),
    "tuples": MetricMeaning("gauge", "space", "tuples that are here, lent ones too, by space"),
    "lent": MetricMeaning("gauge", "space", "tuples that are lent out, by space"),
    "waiting": MetricMeaning("gauge", "space", "calls that wait for a tuple, by space"),
    "oldest_seconds": MetricMeaning(
        "gauge", "space", "for how long the oldest tuple that is not lent has been here, by space"
    ),
    "wait_seconds": MetricMeaning(
        "histogram", "space", "how long tuples were here before they were first taken, by space"
    ),
}


class Times:
    """How often something took how long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Note how long something took."""
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total += seconds

    def read(self) -> Mapping[str, tuple[list[int], float]]:
        """For `Metrics.watch_times`."""
        return {"": (self.counts, self.total)}


class Metrics:
    """The numbers of one host.

    >>> metrics = Metrics("ward-3")
    >>> metrics.count("calls", "take")
    >>> metrics.watch("members", lambda: 3)
    >>> text = metrics.render().decode()
    >>> 'nomospace_calls_total{host="ward-3",kind="take"} 1.0' in text
    True
    >>> 'nomospace_members{host="ward-3"} 3.0' in text
    True
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._counts: dict[str, dict[str, int]] = {}
        self._read_times: dict[str, Callable[[], Mapping[str, tuple[list[int], float]]]] = {}
        self._watched: dict[str, Callable[[], float | Mapping[str, float]]] = {}
        self._together: Callable[[], Mapping[str, Mapping[str, float]]] = dict
        for name, meaning in KNOWN.items():
            if meaning.kind == "counter":
                self._counts[name] = {} if meaning.label else {"": 0}
            elif meaning.kind == "histogram":
                self._read_times[name] = dict

    def count(self, name: str, label: str = "", amount: int = 1) -> None:
        """Add to a counter."""
        series = self._counts[name]
        if label in series:
            series[label] += amount
        elif len(series) < SERIES_MAX:
            series[label] = amount
        else:
            series["other"] = series.get("other", 0) + amount

    def watch(self, name: str, read: Callable[[], float | Mapping[str, float]]) -> None:
        """Read a number when somebody looks: one, or with a label one for each."""
        assert name in KNOWN, f"{name} has no meaning yet"
        self._watched[name] = read

    def watch_times(
        self, name: str, read: Callable[[], Mapping[str, tuple[list[int], float]]]
    ) -> None:
        """Read a histogram when somebody looks: for each label its counts and its sum."""
        self._read_times[name] = read

    def watch_together(self, read: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        """Read several numbers with labels in one look."""
        self._together = read

    def render(self) -> bytes:
        """All numbers as text, for whoever scrapes them."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return bytes(generate_latest(registry))

    def collect(self) -> Iterator[Any]:
        """The numbers as the library takes them."""
        from prometheus_client import core

        together = self._together()
        for name, meaning in KNOWN.items():
            full, labels = f"nomospace_{name}", ["host"] + [meaning.label] * bool(meaning.label)
            if meaning.kind == "histogram":
                histogram = core.HistogramMetricFamily(full, meaning.help, labels=labels)
                bounds = BOUNDS_S if meaning.label else BUCKETS_S
                for label, (counts, total) in self._read_times[name]().items():
                    heaps = list(_heaped(bounds, counts))
                    histogram.add_metric([self._host, label][: len(labels)], heaps, total)
                yield histogram
                continue
            values = together.get(name) or self._counts.get(name, {})
            if name in self._watched:
                found = self._watched[name]()
                values = found if isinstance(found, Mapping) else {"": found}
            make = core.CounterMetricFamily if meaning.kind == "counter" else core.GaugeMetricFamily
            family = make(full, meaning.help, labels=labels)
            for label, value in islice(values.items(), SERIES_MAX + 1):  # one is `other`
                family.add_metric([self._host, label][: len(labels)], value)
            yield family


def _heaped(bounds: tuple[float, ...], counts: list[int]) -> Iterator[tuple[str, int]]:
    """Each bucket counts all that are below it."""
    total = 0
    for bound, count in zip([*map(repr, bounds), "+Inf"], counts, strict=True):
        total += count
        yield bound, total


def backlog(spaces: Iterable[Kept], now: int) -> Mapping[str, dict[str, float]]:
    """How much lies in the spaces of a host, and for how long, by space."""
    found: dict[str, dict[str, float]] = {
        "tuples": {},
        "lent": {},
        "waiting": {},
        "oldest_seconds": {},
    }
    for space, _, shared, _ in spaces:
        label, of = space.name if shared else PRIVATE, space.stats()
        for name, count in (("tuples", "tuples"), ("lent", "lent"), ("waiting", "waiters")):
            found[name][label] = found[name].get(label, 0) + of[count]
        if space.waits is not None:
            eldest = space.eldest()
            since = now if eldest is None else space.waits.since(eldest.order)
            found["oldest_seconds"][label] = max(0, now - since) / 1e6
    return found
