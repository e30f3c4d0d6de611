"""Templates: what an agent asks a space for, and the tuples it may be given.

A template is a tuple of patterns. A pattern is an actual, which matches its equal; a formal
(`nomospace.terms.formals`); a compound or list with patterns inside; or a dict of patterns, which
matches every dict with at least these keys. As a formal is a ground
term, a template is one too: `Template.term` is what laws see and wires carry, and
`Template.from_term` reads it back.

Matching is exact: `1`, `1.0` and `True` are three values, `None` is a value and no wildcard,
`True` does not fit the formal `int`, and a template of three fields matches tuples of three.
Only a template that names a class is *meant*: it is matched as `nomospace.terms.assign` says, and
a space that speaks an ontology binds it to what its class means there (`Template.bound`).

A template is read once. What indexes want to know is found then (`equal`, `features`, `ranges`:
all necessary for a match, never enough); the test itself is made on first use, and most templates,
which hold nothing but atomic actuals and `ANY`, need none beyond a few comparisons.

Templates follow section 2 of `002_…` (LIME), which takes Linda's over: formals are typed, and
neither Linda nor LIME looks inside a field. Here patterns do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from nomospace.errors import CallerError, LimitReached
from nomospace.terms.assign import Assigner, Names, View, just_itself, names_class
from nomospace.terms.budget import WATCH_UNITS_MAX, Budget
from nomospace.terms.dicts import dict_items
from nomospace.terms.features import (
    PLAIN_INT,
    Fields,
    Key,
    Path,
    feature,
    features_of,
    is_eager,
    key_of,
)
from nomospace.terms.fit import Test, compile_fit
from nomospace.terms.formals import (
    ANY,
    BadFormal,
    a,
    accepts,
    between,
    formals_in,
    interned,
    is_formal,
    read_formal,
    same,
    where,
)
from nomospace.terms.hints import formal_bounds, formal_features, shape_features
from nomospace.terms.objects import MISSING, has_properties, obj
from nomospace.terms.predicate import PREDICATE_CHARS_MAX, price_of
from nomospace.terms.text import show
from nomospace.terms.values import (
    ATOMIC,
    FORMAL,
    INT_BITS_MAX,
    OBJECT,
    PARTIAL,
    REPR_MAX,
    TYPE_FORMALS,
    Compound,
    Term,
    TooLarge,
    Var,
    check_size,
    freeze,
)
from nomospace.terms.values import same as same_term

__all__ = [
    "ANY",
    "MISSING",
    "PATTERN_DEPTH_MAX",
    "WIDTH_MAX",
    "BadFormal",
    "BadWidth",
    "FormalInTuple",
    "Key",
    "NotAPattern",
    "Path",
    "Template",
    "a",
    "accepts",
    "between",
    "feature",
    "features_of",
    "freeze_tuple",
    "is_eager",
    "key_of",
    "obj",
    "same",
    "where",
]

WIDTH_MAX: Final = 64
"""The most fields that a tuple or a template has."""
PATTERN_DEPTH_MAX: Final = 32
"""How deep in a template a formal may stand; actuals may be as deep as any term."""

PATTERN_PARTS_MAX: Final = 10_000
"""The parts of compounds and lists that a template has, its formals among them."""
PREDICATES_CHARS_MAX: Final = 2 * PREDICATE_CHARS_MAX
"""What the predicates of one template have together, in characters."""
PROPERTIES_MAX: Final = 4_096
"""The properties of one object in a tuple, or the keys of one dict: no test has to look at more."""

KNOWN_MAX: Final = 1_024
"""Templates that name classes and are remembered."""

_SHORT: Final = 200
"""Strings up to here need no look at the size of the whole: 64 of them are far below the limit."""
_LIGHT: Final = 20_000
"""Fields that weigh no more together are far from every limit."""
_LIGHT_LEVELS: Final = 8
_HEAVY: Final = 10**9
_TIED: Final = 500
"""What fields that are tied may cost more, in a price: they may be large."""
_SMALL_INT: Final = 2**63
_STEADY_MAX: Final = 16
"""What a test may cost that is not paid for, in units."""
_NOTHING: Final = Budget(0)
"""What a steady test is handed: it takes nothing."""
_AT: Final[tuple[Path, ...]] = tuple((pos,) for pos in range(WIDTH_MAX))

Range: TypeAlias = tuple[int, Term | None, Term | None]


@dataclass(eq=False, kw_only=True)
class BadWidth(CallerError):
    """A tuple or a template has no field, or too many."""

    code: ClassVar[str] = "tuple.width"
    what: str
    width: int

    def __str__(self) -> str:
        return (
            f"a {self.what} of {self.width:,} fields cannot be: it has 1 to {WIDTH_MAX}; "
            f"{'give at least one' if self.width == 0 else 'put some of them in a list'}"
        )


@dataclass(eq=False, kw_only=True)
class FormalInTuple(CallerError):
    """A formal was to be written into a space."""

    code: ClassVar[str] = "tuple.formal"
    words: ClassVar[str] = (
        "field {position} holds {formal}: formals stand in templates only, and "
        "`formal` is their name alone; give a value, or rename the compound"
    )
    position: int
    formal: str


@dataclass(eq=False, kw_only=True)
class NotAPattern(CallerError):
    """A template or a tuple was given in a form that is none."""

    code: ClassVar[str] = "template.not-a-pattern"
    words: ClassVar[str] = "{value}: {why}"
    value: str
    why: str


@dataclass(eq=False, kw_only=True)
class TemplateTooDear(LimitReached):
    """A template is so large that reading it would cost too much."""

    code: ClassVar[str] = "limits.template"
    advice: str = "ask for less, and look at the rest yourself"


def freeze_tuple(fields: Sequence[object]) -> Fields:
    """Turn Python values into a tuple as a space holds it, or say why that cannot be.

    Within the limits of width and size, and without formals at any depth: otherwise a tuple
    could pass for a template where laws look at it.

    >>> freeze_tuple(["job", 17, [1, 2]])
    ('job', 17, (1, 2))
    >>> freeze_tuple(("job", ANY))
    Traceback (most recent call last):
    nomospace.terms.templates.FormalInTuple: field 1 holds formal(any): formals stand in \
templates only, and `formal` is their name alone; give a value, or rename the compound
    """
    if (fields.__class__ is tuple or fields.__class__ is list) and 0 < len(fields) <= WIDTH_MAX:
        for field in fields:  # what most tuples are made of; `_freeze_fields` does the same
            kind = field.__class__
            if kind is str:
                if len(field) > _SHORT or not field.isascii():
                    break
            elif kind is int:
                if field.bit_length() > INT_BITS_MAX:
                    break
            elif kind is not bool and field is not None:
                break
        else:
            return tuple(fields)
    return _without_formals(_freeze_fields(fields, "tuple"))


def check_tuple(fields: Fields) -> Fields:
    """`freeze_tuple` for fields that are terms already, as a wire reads them: limits are looked at.

    >>> check_tuple(("job", 17, (1, 2)))
    ('job', 17, (1, 2))
    """
    if not 0 < len(fields) <= WIDTH_MAX:
        raise BadWidth(what="tuple", width=len(fields))
    for field in fields:
        kind = field.__class__
        if kind is str:
            if len(field) > _SHORT:
                break
        elif kind is not int and kind is not bool and field is not None:
            break
    else:
        return fields
    if sum([_weight(field, _LIGHT_LEVELS) for field in fields]) > _LIGHT:
        check_size(fields)
    return _without_formals(fields)


def _without_formals(frozen: Fields) -> Fields:
    for pos, value in enumerate(frozen):
        if value.__class__ is Compound or value.__class__ is tuple:
            _check_value(value, pos)
    return frozen


def _check_value(value: Term, pos: int) -> None:
    """Raise for a formal in a field of a tuple, and for an object with too many properties."""
    todo = [value]
    while todo:
        item = todo.pop()
        if item.__class__ is Compound:
            if item.name == FORMAL:
                raise FormalInTuple(position=pos, formal=_brief(item))
            if item.name == OBJECT and has_properties(item) and len(item.args[2]) > PROPERTIES_MAX:
                what = "the number of an object's properties, or of a dict's keys,"
                raise TooLarge(what=what, limit=PROPERTIES_MAX)
            item = item.args
        inner = [
            one for one in item if one.__class__ is Compound or (one.__class__ is tuple and one)
        ]
        todo += reversed(inner)


class Template(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A tuple of patterns, read and ready to match.

    >>> jobs = Template.of(["job", int, between(1, 10)])
    >>> jobs.matches(("job", 17, 3)), jobs.matches(("job", True, 3)), jobs.matches(("job", 17))
    (True, False, False)
    >>> jobs.equal, jobs.ranges
    (((0, 'job'),), ((2, 1, 10),))
    >>> jobs
    Template.of(term('[job,formal(int),formal(int,between(1,10))]'))
    """

    _term: Fields | None
    arity: int
    plain: bool
    """Whether there are only atomic actuals and `ANY`: then `equal` and `arity` say it all."""
    equal: tuple[tuple[int, Term], ...]
    """Positions and the atomic actuals that stand there."""
    _features: tuple[tuple[Path, Key], ...] | None
    ranges: tuple[Range, ...]
    """Positions with the least and greatest value there, both included, `None` for no bound."""
    meant: bool = False
    """Whether a field names a class: then a tuple's width and order do not count, and there are
    none of the hints above."""
    steady: bool = True
    """Whether it costs the same few units to test any tuple: its `price`. Nothing needs counting
    then, and `matches` needs no budget."""
    _rest: Test | None = None
    _price: int = 0

    @property
    def term(self) -> Fields:
        """The template as a list term: what a law sees."""
        if self._term is None:
            fields: list[Term] = [ANY] * self.arity
            for pos, value in self.equal:
                fields[pos] = value
            msgspec.structs.force_setattr(self, "_term", tuple(fields))
            return tuple(fields)
        return self._term

    @property
    def features(self) -> tuple[tuple[Path, Key], ...]:
        """What every tuple that matches shows (`nomospace.terms.features`); has all of `equal`."""
        if self._features is None:
            made = tuple([(_AT[pos], value) for pos, value in self.equal])
            msgspec.structs.force_setattr(self, "_features", made)
            return made
        return self._features

    @property
    def price(self) -> int:
        """About what the test of a tuple may cost one who waits, in units (`terms.budget`).

        >>> Template.of(("job", ANY)).price, Template.of(("job", where("> 5 and < 9"))).price
        (1, 5)
        """
        if self.plain:
            return 1
        if not self._price:
            msgspec.structs.force_setattr(self, "_price", min(_price(self), WATCH_UNITS_MAX))
        return self._price

    @classmethod
    def of(cls, patterns: Sequence[object]) -> Template:
        """Read a template from Python patterns: values, types, formals, and nests of these.

        >>> Template.of(("job", ANY, [str, None]))
        Template.of(term('[job,formal(any),[formal(str),null]]'))
        """
        if patterns.__class__ is tuple or patterns.__class__ is list:
            width = len(patterns)
            if 0 < width <= WIDTH_MAX:
                equal = []
                features: list[tuple[Path, Key]] = []
                for pos, pattern in enumerate(patterns):
                    kind = pattern.__class__
                    if kind is str:
                        if len(pattern) > _SHORT or not pattern.isascii():
                            break
                        equal.append((pos, pattern))
                        features.append((_AT[pos], pattern))
                    elif kind is int:
                        if not -PLAIN_INT < pattern < PLAIN_INT:
                            break
                        equal.append((pos, pattern))
                        features.append((_AT[pos], pattern))
                    elif pattern is not ANY:
                        break
                else:
                    return cls(tuple(patterns), width, True, tuple(equal), tuple(features), ())
        return _remembered(_freeze_fields(patterns, "template", types=True))

    @classmethod
    def at_places(cls, width: int, places: Sequence[Any], first: int) -> Template:
        """Read a template of values at some of its places, as frames carry it; trusts nothing.

        From `first` on, positions and values stand in turn; a `ValueError` where they do not. What
        the term is, and what an index would want, is found when it is asked for: most never are.

        >>> Template.at_places(3, [0, "job", 2, 17], 0)
        Template.of(term('[job,formal(any),17]'))
        """
        if width.__class__ is not int or not 0 < width <= WIDTH_MAX:
            raise ValueError(f"a template has 1 to {WIDTH_MAX} fields")
        equal: list[tuple[int, Term]] = []
        last = -1
        for at in range(first, len(places), 2):
            pos, value = places[at], places[at + 1]
            if pos.__class__ is not int or not last < pos < width:
                raise ValueError("the places of a template go up, and are below its width")
            kind = value.__class__
            if kind is str:
                if len(value) > _SHORT or not value.isascii():
                    break
            elif kind is not int or not -PLAIN_INT < value < PLAIN_INT:
                break
            last = pos
            equal.append((last, value))
        else:
            return cls(None, width, True, tuple(equal), None, ())
        patterns: list[object] = [ANY] * width
        for at in range(first, len(places), 2):
            patterns[places[at]] = places[at + 1]
        return cls.of(patterns)

    @classmethod
    def from_term(cls, term: Term) -> Template:
        """Read a template from its list term, as laws and wires carry it; trusts nothing.

        >>> Template.from_term(Template.of(["job", int]).term) == Template.of(["job", int])
        True
        """
        return _read(_freeze_fields(term, "template"))

    @classmethod
    def of_terms(cls, patterns: Fields) -> Template:
        """`from_term` for what is a term already, as a wire reads it: none of it is made anew.

        >>> Template.of_terms(("job", ANY)) == Template.of(("job", ANY))
        True
        """
        if not 0 < len(patterns) <= WIDTH_MAX:
            raise BadWidth(what="template", width=len(patterns))
        weight = 0
        for pattern in patterns:
            weight += _weight(pattern, _LIGHT_LEVELS)
        if weight > _LIGHT:
            check_size(patterns)
        return _read(patterns)

    def matches(self, fields: Fields, budget: Budget | None = None) -> bool:
        """Whether a tuple, frozen before, is one that the template asks for.

        `TestTooDear` when that costs more than a budget has; without one, more than
        `TEST_UNITS_MAX`.
        """
        if len(fields) != self.arity and not self.meant:
            return False
        for pos, value in self.equal:
            field = fields[pos]
            if field is not value and (field.__class__ is not value.__class__ or field != value):
                return False
        if self.plain:
            return True
        if budget is None:
            budget = _NOTHING if self.steady else Budget()
        return (self._rest or self._made())(fields, budget)

    def prepare(self) -> None:
        """Make the test now that is otherwise made on first use: who waits pays for it, no writer.

        It may cost a hundred times what a test does.
        """
        if not self.plain and self._rest is None:
            self._made()

    def _made(self) -> Test:
        rest = self.assigner().fits if self.meant else compile_fit(self.term, steady=self.steady)
        msgspec.structs.force_setattr(self, "_rest", rest)
        return rest

    def assigner(
        self,
        accepted: Names = just_itself,
        own: Names = just_itself,
        view: View | None = None,
    ) -> Assigner:
        """What fits tuples to a template that names classes: each accepts itself, unless told.

        >>> Template.of([a("Car")]).assigner().fits(("sale", obj("Car")), Budget())
        True
        """
        return Assigner(self.term, accepted, own, view)

    def bound(self, test: Test) -> Template:
        """The same template, whose tuples are told by another test: of one that knows more classes.

        >>> meant = Template.of([a("Car")])
        >>> knows = lambda name: frozenset((name, "Automobile"))
        >>> meant.bound(meant.assigner(knows, knows).fits).matches((obj("Automobile"),))
        True
        """
        return msgspec.structs.replace(self, _rest=test)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and same_term(self.term, other.term)

    def __ne__(self, other: object) -> bool:  # the base class has one of its own, by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.term)

    def __repr__(self) -> str:
        return f"Template.of(term({show(self.term, limit=REPR_MAX)!r}))"

    def __reduce__(self) -> tuple[Any, ...]:
        return Template.from_term, (self.term,)


def _freeze_fields(fields: object, what: str, *, types: bool = False) -> Fields:
    if not isinstance(fields, tuple | list):
        raise NotAPattern(
            value=f"{type(fields).__name__} {_brief(fields)}",
            why=f"a {what} is a list or tuple of fields; put brackets round a single one",
        )
    if not 0 < len(fields) <= WIDTH_MAX:
        raise BadWidth(what=what, width=len(fields))
    if types:
        fields = [TYPE_FORMALS.get(f, f) if f.__class__ is type else f for f in fields]
    weight = 0
    for field in fields:
        weight += _weight(field, _LIGHT_LEVELS)
    if weight <= _LIGHT:
        frozen = tuple(fields)
    else:
        frozen = tuple([freeze(field, variables=types) for field in fields])
        check_size(frozen)
    if weight > PREDICATES_CHARS_MAX and what == "template":  # less cannot be too much of anything
        _check_price(frozen)
    return frozen


def _weight(value: Any, levels: int) -> int:
    """At least the bytes of a value that is a small term already; `_HEAVY` for all others.

    Most fields are: they need no freezing, only this look, which is much quicker.
    """
    kind = value.__class__
    if kind is str:
        if value.isascii():
            return 10 + len(value)
        return 10 + 4 * len(value) if value.isprintable() else _HEAVY  # no half surrogate pairs
    if kind is int:
        return 10 if -_SMALL_INT < value < _SMALL_INT else _HEAVY
    if value is None or kind is bool:
        return 10
    if kind is float:
        return 10 if value and isfinite(value) else _HEAVY  # there is a zero that is made another
    if kind is bytes:
        return 10 + len(value)
    weight = 10
    if kind is Compound:
        if value.name.__class__ is not str or value.name == PARTIAL or not value.args:
            return _HEAVY
        weight += _weight(value.name, 0)
        value = value.args
        kind = value.__class__
    if kind is not tuple or levels == 0:
        return _HEAVY
    for part in value:
        weight += _weight(part, levels - 1)
        if weight > _LIGHT:
            return _HEAVY
    return weight


def _no_variables(found: Var) -> NotAPattern:
    return NotAPattern(
        value=f"the variable {found.name}",
        why="templates have formals, not variables; use ANY or same(…)",
    )


def _brief(value: object) -> str:
    if isinstance(value, Compound):
        return show(value, limit=60)
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:57]}..."


_known: dict[tuple[Fields, tuple[type, ...]], Template] = {}


def _remembered(frozen: Fields) -> Template:
    """What was read before for the same patterns, if it names a class; else it is read now.

    Such templates are dear to read, and dearer to bind to an ontology (`Template.bound`): whoever
    does that knows them again. What Python holds for equal though it is not (`1` and `True`) must
    not meet: compounds tell such apart, the kinds of the fields do it here, and lists are left out.
    """
    kinds = tuple([field.__class__ for field in frozen])
    if Compound not in kinds or tuple in kinds:
        return _read(frozen)
    found = _known.get((frozen, kinds))
    if found is None:
        found = _read(frozen)
        if found.meant:
            if len(_known) >= KNOWN_MAX:
                del _known[next(iter(_known))]
            _known[frozen, kinds] = found
    return found


def _read(frozen: Fields) -> Template:
    """Look every formal over, and note what indexes can use."""
    plain = True
    meant = False
    equal: list[tuple[int, Term]] = []
    features: list[tuple[Path, Key]] = []
    ranges: list[Range] = []
    alike: dict[str, int] = {}  # a name of `same(…)` and its first position
    fields = list(frozen)
    price = len(fields)  # of a steady one
    for pos, field in enumerate(frozen):
        if field.__class__ is Var:
            raise _no_variables(field)
        if field.__class__ in ATOMIC:
            equal.append((pos, field))
            features.append((_AT[pos], key_of(field)))
            continue
        if not is_formal(field):
            plain = False
            price += _STEADY_MAX  # it is looked into
            _check_holes(field)
            is_form = field.__class__ is Compound and field.name == OBJECT and len(field.args) == 3
            if is_form and dict_items(field) is None:
                meant = meant or names_class(field)
                continue  # objects are indexed apart
            features += shape_features(field, _AT[pos])
            continue
        fields[pos] = field = interned(field)
        if field is ANY:
            continue
        plain = False
        formal = read_formal(field)
        meant = meant or formal.class_name is not None
        price += 1
        if formal.predicate is not None and not meant:
            price += price_of(formal.predicate, field=True)
        features += formal_features(formal, _AT[pos])
        if formal.same is not None:
            price += _STEADY_MAX  # what is equal may be large
            first = alike.setdefault(formal.same, pos)
            if first != pos:
                features.append(((first, "=", pos), True))
        low, high = formal_bounds(formal)
        if low is not None or high is not None:
            ranges.append((pos, low, high))
    width = len(fields)
    if meant:
        return Template(tuple(fields), width, False, (), (), (), True, False)
    steady = plain or price <= _STEADY_MAX
    return Template(
        tuple(fields),
        width,
        plain,
        tuple(equal),
        tuple(features),
        tuple(ranges),
        False,
        steady,
        None,
        price if steady else 0,
    )


def _price(template: Template) -> int:
    formals = [read_formal(one) for field in template.term for one, _ in formals_in(field)]
    price = len(template.term) + len(formals)
    for formal in formals:
        if formal.predicate is not None:
            price += price_of(formal.predicate, field=formal.class_name is None)
    names = [formal.same for formal in formals if formal.same is not None]
    tied = len(set(names)) < len(names)
    if not template.meant:
        return price + _TIED * tied
    if tied or sum(map(names_class, template.term)) > 1:
        return WATCH_UNITS_MAX  # how tuples serve it has to be searched for
    return WIDTH_MAX + 8 * price


def _check_price(patterns: Fields) -> None:
    """Raise `TemplateTooDear` for a template that would cost too much to read."""
    left, chars, todo = PATTERN_PARTS_MAX, PREDICATES_CHARS_MAX, [patterns]
    while todo:
        parts = todo.pop()
        left -= len(parts)
        if left < 0:
            raise TemplateTooDear(what="the number of parts of a template", limit=PATTERN_PARTS_MAX)
        for part in parts:
            if part.__class__ is tuple:
                todo.append(part)
            elif part.__class__ is Compound:
                todo.append(part.args)
                if part.name == FORMAL and part.args[-1].__class__ is str:
                    chars -= len(part.args[-1])
        if chars < 0:
            raise TemplateTooDear(
                what="the length of a template's predicates together", limit=PREDICATES_CHARS_MAX
            )


def _check_holes(value: Term) -> None:
    for formal, depth in formals_in(value):
        if formal.__class__ is Var:
            raise _no_variables(formal)
        read_formal(formal)
        if depth > PATTERN_DEPTH_MAX:
            raise NotAPattern(
                value=_brief(formal),
                why=f"it stands {depth} levels deep, over the limit of {PATTERN_DEPTH_MAX}; "
                "ask for less and look at the rest yourself",
            )
