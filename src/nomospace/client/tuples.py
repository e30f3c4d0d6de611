"""Tuples as programs see them, and the checks on what programs hand in.

A `Tuple` is a plain Python tuple of its fields with what rides along hidden beside them. Dicts are
Python's again, and as they are everybody's own they may be changed without harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypedDict

from nomospace.calls.answers import Found
from nomospace.calls.requests import ONCE_CHARS_MAX as ONCE_CHARS_MAX, Sets
from nomospace.calls.ways import PRIORITY_MAX
from nomospace.errors import CallerError
from nomospace.terms.values import Compound, thaw

SECONDS_MAX: Final = 100 * 366 * 24 * 3600.0
"""The longest lease, timeout or life of a tuple: a hundred years."""


WHY_CHARS_MAX: Final = 500
"""So much of a reason goes along with a tuple that is given back."""


class LeaseEnd(NamedTuple):
    """How a lease on a tuple ended: whose it was, when (microseconds, UTC), and why.

    The reason is what its taker gave, or `lapsed`.
    """

    agent: str
    at: int
    why: str


class TupleId(tuple[str, int]):
    """The agent that wrote a tuple, and that agent's count of tuples; a text like `ann@ward#17`.

    >>> TupleId(("ann@ward", 17)), TupleId(("ann@ward", 17)) == ("ann@ward", 17)
    (ann@ward#17, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{self[0]}#{self[1]}"


class Tuple(tuple[Any, ...]):  # noqa: SLOT001 - a tuple subclass can have no slots of its own
    """A tuple that was read or taken: unpacks and compares as the plain tuple of its fields.

    >>> from nomospace import sync
    >>> with sync.Host("ward-3") as host:
    ...     jobs = host.agent("nurse").space("jobs", shared=True)
    ...     jobs.out("job", 17)
    ...     job = jobs.take("job", int)
    >>> job == ("job", 17), str(job.id), job.source, job.deliveries
    (True, 'nurse@ward-3#1', 'nurse@ward-3', 0)
    """

    _found: Found

    @property
    def id(self) -> TupleId:
        """The agent that wrote it, and that agent's count of tuples: no other has this id."""
        return TupleId((self._found.writer, self._found.count))

    @property
    def source(self) -> str:
        """The agent that held it."""
        return self._found.source

    @property
    def deliveries(self) -> int:
        """How often it has been lent out under a lease, this time included."""
        return self._found.deliveries

    @property
    def lease(self) -> str:
        """The lease it was taken under; empty when it was taken for good."""
        return self._found.lease

    @property
    def why(self) -> str:
        """How it answers a template that names classes, in words; empty when there is no need.

        >>> from nomospace import Ontology, a, obj, sync
        >>> from nomospace.meaning.ontology import OntologyClass
        >>> cars = Ontology("cars", [OntologyClass("Car"), OntologyClass("Van", (), ("Car",))])
        >>> with sync.Host("ward-3") as host:
        ...     sales = host.agent("nurse").space("sales", ontology=cars)
        ...     sales.out(obj("Van", "v1", price=400))
        ...     sales.read_nowait(a("Car", "price < 500")).why
        'Van is a Car'
        """
        return self._found.why

    @property
    def history(self) -> tuple[LeaseEnd, ...]:
        """How its last leases ended, the latest last: given back, with a reason, or lapsed.

        >>> from nomospace import sync
        >>> with sync.Host("ward-3") as host:
        ...     jobs = host.agent("nurse").space("jobs", shared=True)
        ...     jobs.out("job", 17)
        ...     jobs.give_back(jobs.take("job", int, lease=30), why="no room")
        ...     [(end.agent, end.why) for end in jobs.take("job", int).history]
        [('nurse@ward-3', 'no room')]
        """
        return tuple([LeaseEnd(*end) for end in self._found.history])

    @property
    def priority(self) -> int:
        """What it was written with: of the tuples of a host, a higher one is found first."""
        return self._found.priority

    @property
    def tuples(self) -> tuple[Tuple, ...]:
        """The tuples that it comes from, as they lay in the space: itself, or several together.

        >>> from nomospace import a, obj, sync
        >>> with sync.Host("ward-3") as host:
        ...     sales = host.agent("nurse").space("sales")
        ...     sales.out(obj("Car", "c1"), obj("Tax", "x"))
        ...     sales.out(obj("Car", "c1"), obj("Loan", "y"), 17)
        ...     found = sales.take_nowait(a("Tax"), a("Loan"), correlate="auto")
        >>> found
        (term("object('Tax',x,[])"), term("object('Loan',y,[])"))
        >>> found.why, [one[-1] for one in found.tuples]
        ('nurse@ward-3#1 and nurse@ward-3#2 share Car c1', [term("object('Tax',x,[])"), 17])
        """
        parts = self._found.members
        if not parts:
            return (self,)
        return tuple(
            [as_tuple(Found(one.fields, one.writer, one.count, one.source)) for one in parts]
        )

    def __reduce__(self) -> tuple[object, ...]:
        return as_tuple, (self._found,)


def as_tuple(found: Found) -> Tuple:
    """What was found, as programs see it."""
    fields = found.fields
    for field in fields:
        if type(field) is Compound or type(field) is tuple:
            fields = thaw(fields)
            break
    made = Tuple(fields)
    made._found = found
    return made


def as_tuples(found: Iterable[Found]) -> list[Tuple]:
    """All that was found, as programs see it."""
    return [as_tuple(one) for one in found]


class BadDuration(CallerError):
    """A lease, a timeout or a tuple's life is no time that can pass."""

    code = "client.bad-duration"
    words = f"{{what}}={{value}} is no duration; give seconds above 0, at most {SECONDS_MAX:,.0f}"
    what: str
    value: str


class BadPlace(CallerError):
    """An agent's id was needed and something else was given."""

    code = "client.bad-place"
    words = "{what}={value} is no agent; give its id, such as 'nurse@ward-3'"
    what: str
    value: str


class BadKey(CallerError):
    """A key under which nothing can be written once."""

    code = "client.bad-key"
    words = f"once={{value}} is no key; use a string of 1 to {ONCE_CHARS_MAX} characters"
    value: str


class BadPriority(CallerError):
    """A priority that is none."""

    code = "client.bad-priority"
    words = f"priority={{value}} is none; use a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}"
    value: str


def seconds(what: str, value: object, *, zero: bool = False) -> float:
    """A duration in seconds, checked.

    >>> seconds("lease", 30)
    30.0
    >>> seconds("lease", -1)
    Traceback (most recent call last):
    nomospace.client.tuples.BadDuration: lease=-1 is no duration; ...
    """
    found = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    # A comparison with NaN is false, so it is refused here too.
    if not (0 <= found <= SECONDS_MAX) or (found == 0 and not zero):
        raise BadDuration(what=what, value=repr(value)[:60])
    return float(found)


def micros(what: str, value: object) -> int:
    """A duration in whole microseconds, checked; 0 when there is none. Never rounded to nothing.

    >>> micros("lease", 1.5), micros("lease", None), micros("lease", 1e-9)
    (1500000, 0, 1)
    """
    return 0 if value is None else max(1, round(seconds(what, value) * 1e6))


def check_priority(value: object) -> int:
    """A priority, checked.

    >>> check_priority("high")
    Traceback (most recent call last):
    nomospace.client.tuples.BadPriority: priority='high' is none; use a whole number from -100 ...
    """
    if type(value) is not int or abs(value) > PRIORITY_MAX:
        raise BadPriority(value=repr(value)[:60])
    return value


def agent_id(what: str, value: object) -> str:
    """An agent's id, checked; empty when there is none.

    >>> agent_id("to", "nurse@ward-3"), agent_id("to", None)
    ('nurse@ward-3', '')
    >>> agent_id("to", "ward-3")
    Traceback (most recent call last):
    nomospace.client.tuples.BadPlace: to='ward-3' is no agent; give its id, ...
    """
    if value is None:
        return ""
    if not isinstance(value, str) or "@" not in value[1:-1]:
        raise BadPlace(what=what, value=repr(value)[:60])
    return value


def place(what: str, value: object) -> str:
    """An agent's id or a host's name, checked; empty when there is none."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise BadPlace(what=what, value=repr(value)[:60])
    return value


def check_key(value: object) -> str:
    """A key of `out(…, once=key)`, checked.

    >>> check_key("query/batch/7")
    'query/batch/7'
    >>> check_key("")
    Traceback (most recent call last):
    nomospace.client.tuples.BadKey: once='' is no key; use a string of 1 to 500 characters
    """
    if not isinstance(value, str) or not 0 < len(value) <= ONCE_CHARS_MAX:
        raise BadKey(value=repr(value)[:60])
    return value


class Correlation(TypedDict, total=False):
    """What `read` and `take` may be told about answers of several tuples together.

    Without any of it a template is answered by single tuples only. `correlate="auto"` lets several
    tuples answer where no single one does, `"always"` in any case (which makes a difference for
    the `_all` forms); `key` names the class of an object that all of them must hold, and `max_set`
    is how many they are at most. The host says what is wrong with a value.
    """

    correlate: str
    key: str | None
    max_set: int


def correlation(
    correlate: str | None = None, key: str | None = None, max_set: int | None = None
) -> Correlation:
    """The options of which something is said: what is empty is left out.

    >>> correlation("auto", "", 3), correlation()
    ({'correlate': 'auto', 'max_set': 3}, {})
    """
    said: Correlation = {}
    if correlate:
        said["correlate"] = correlate
    if key:
        said["key"] = key
    if max_set is not None:
        said["max_set"] = max_set
    return said


def sets_of(given: Correlation) -> Sets | None:
    """The options as they travel; `None` where only single tuples are asked for.

    >>> sets_of({}), sets_of({"correlate": "never"}), sets_of({"key": "Car"})
    (None, None, Sets(correlate='auto', key='Car', max_set=6))
    >>> sets_of({"corelate": "auto"})
    Traceback (most recent call last):
    TypeError: there is no option 'corelate'; there are correlate, key, max_set
    """
    if not given:
        return None
    for name in given:
        if name not in Correlation.__annotations__:
            known = ", ".join(Correlation.__annotations__)
            raise TypeError(f"there is no option {name!r}; there are {known}")
    correlate, key = given.get("correlate", "auto"), given.get("key") or ""
    most = given.get("max_set", 6)
    if correlate not in ("auto", "always", "never"):
        raise TypeError(f"correlate is 'auto', 'always' or 'never', not {correlate!r}")
    if type(key) is not str or type(most) is not int:
        raise TypeError(f"key is the name of a class and max_set a number, not {key!r}, {most!r}")
    return None if correlate == "never" else Sets(correlate, key, most)
