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
from itertools import pairwise
from typing import Any, Final, TypeAlias

import msgspec

from nomospace.terms.assign import Assigner, Names, View, just_itself, names_class
from nomospace.terms.budget import WATCH_UNITS_MAX, Budget
from nomospace.terms.conditions import price_of
from nomospace.terms.encoding import encode
from nomospace.terms.features import (
    PLAIN_INT,
    Fields,
    Key as Key,
    Path as Path,
    feature as feature,
    features_of as features_of,
    is_eager as is_eager,
    key_of as key_of,
)
from nomospace.terms.fit import Test, compile_fit
from nomospace.terms.formals import (
    ANY as ANY,
    BadFormal as BadFormal,
    a as a,
    accepts as accepts,
    between as between,
    formals_in,
    interned,
    is_formal,
    read_formal,
    same as same,
    where as where,
)
from nomospace.terms.hints import formal_bounds, formal_features, shape_features
from nomospace.terms.objects import MISSING as MISSING, obj as obj
from nomospace.terms.text import show
from nomospace.terms.tuples import (
    LIGHT,
    LIGHT_LEVELS,
    PREDICATES_CHARS_MAX,
    SHORT,
    WIDTH_MAX as WIDTH_MAX,
    BadWidth as BadWidth,
    FormalInTuple as FormalInTuple,
    NotAPattern as NotAPattern,
    brief,
    check_price,
    freeze_fields,
    freeze_tuple as freeze_tuple,
    light_weight,
)
from nomospace.terms.values import (
    ATOMIC,
    OBJECT,
    REPR_MAX,
    Compound,
    Term,
    Var,
    check_size,
    dict_items,
    same as same_term,
)

PATTERN_DEPTH_MAX: Final = 32
"""How deep in a template a formal may stand; actuals may be as deep as any term."""

KNOWN_MAX: Final = 1_024
"""How many templates are remembered."""
KNOWN_BYTES_MAX: Final = 2_000
"""Larger ones are not, unless they name classes: those are dearest to read."""

_TIED: Final = 500
"""What fields that are tied may cost more, in a price: they may be large."""
_STEADY_MAX: Final = 16
"""What a test may cost that is not paid for, in units."""
_NOTHING: Final = Budget(0)
"""What a steady test is handed: it takes nothing."""
_AT: Final[tuple[Path, ...]] = tuple((pos,) for pos in range(WIDTH_MAX))

Range: TypeAlias = tuple[int, Term | None, Term | None]


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
        is_list = type(patterns) is tuple or type(patterns) is list
        if is_list and 0 < (width := len(patterns)) <= WIDTH_MAX:
            equal: list[tuple[int, Term]] = []
            plain = True
            for pos, one in enumerate(patterns):
                if (type(one) is str and len(one) <= SHORT and one.isascii()) or (
                    type(one) is int and -PLAIN_INT < one < PLAIN_INT
                ):
                    equal.append((pos, one))
                elif one is not ANY:
                    plain = False
            if plain:
                return cls(None, width, True, tuple(equal), None, ())
            values = dict(equal)
            shape: list[object] = []
            for pos, one in enumerate(patterns):
                if pos not in values:
                    shape += (pos, type(one), one)
            return _remembered(tuple(patterns), values, shape)
        return _read(freeze_fields(patterns, "template", types=True))

    @classmethod
    def at_places(cls, width: int, equal: tuple[tuple[int, str | int], ...]) -> Template:
        """A template of short texts and small numbers at some places, and `ANY` at all others.

        A `ValueError` where these are no places. What the term is, and what an index would want, is
        found when it is asked for: most never are.

        >>> Template.at_places(3, ((0, "job"), (2, 17)))
        Template.of(term('[job,formal(any),17]'))
        """
        before = -1
        for place, _ in equal:
            if place <= before:
                raise ValueError("the places of a template go up")
            before = place
        if not before < width <= WIDTH_MAX:
            raise ValueError("the places of a template are below its width")
        return cls(None, width, True, equal, None, ())

    @classmethod
    def from_term(cls, term: Term) -> Template:
        """Read a template from its list term, as laws and wires carry it; trusts nothing.

        >>> Template.from_term(Template.of(["job", int]).term) == Template.of(["job", int])
        True
        """
        return _read(freeze_fields(term, "template"))

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
            weight += light_weight(pattern, LIGHT_LEVELS)
        if weight > LIGHT:
            check_size(patterns)
        if weight > PREDICATES_CHARS_MAX:
            check_price(patterns)
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

    def with_values(self, values: dict[int, Term]) -> Template:
        """The same with other texts and numbers at those places; its test looks at all others.

        >>> Template.of(("job", 17, int)).with_values({0: "job", 1: 18})
        Template.of(term('[job,18,formal(int)]'))
        """
        equal = tuple([(pos, values.get(pos, value)) for pos, value in self.equal])
        fields = [values.get(pos, field) for pos, field in enumerate(self.term)]
        shown = [(path, values.get(path[0], key)) for path, key in self.features]
        self.prepare()
        return msgspec.structs.replace(
            self, _term=tuple(fields), equal=equal, _features=tuple(shown)
        )

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


def check_places(width: object, at: bytes) -> None:
    """Raise a `ValueError` unless a template of this width can have values at these places."""
    if type(width) is not int or not 0 < width <= WIDTH_MAX:
        raise ValueError(f"a template has 1 to {WIDTH_MAX} fields")
    if any(after <= before for before, after in pairwise(at)):
        raise ValueError("the places of a template go up")
    if at and at[-1] >= width:
        raise ValueError("the places of a template are below its width")


def _no_variables(found: Var) -> NotAPattern:
    return NotAPattern(
        value=f"the variable {found.name}",
        why="templates have formals, not variables; use ANY or same(…)",
    )


_known: dict[tuple[object, ...], Template] = {}


def _remembered(
    patterns: tuple[object, ...], values: dict[int, Term], shape: list[object]
) -> Template:
    """A template with texts and numbers at some places, and of what `shape` says at all others.

    A program asks for the same again and again, or for the same with another key, and to read a
    template and to make its test is dearer than to use it; dearest is to bind it to an ontology
    (`Template.bound`). What Python holds for equal though it is not (`1` and `True`) must not meet:
    compounds tell such apart, the kinds of the fields do it here, and lists are left out.
    """
    key = (len(patterns), *shape)
    try:
        found = _known.get(key)
        if found is not None and found.meant:  # which field answers which depends on all of them
            key = (tuple(values.items()), *key)
            found = _known.get(key)
    except TypeError:  # a list, or a dict
        return _read(freeze_fields(patterns, "template", types=True))
    if found is not None:
        same = found.meant or values.items() <= dict(found.equal).items()
        return found if same else found.with_values(values)
    found = _read(freeze_fields(patterns, "template", types=True))
    nested = any(type(one) is tuple for one in patterns)
    if not nested and (found.meant or len(encode(found.term)) <= KNOWN_BYTES_MAX):
        if len(_known) >= KNOWN_MAX:
            _known.clear()  # to let the first go, one looks through the places of all gone
        _known[key] = found
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
        if type(field) is Var:
            raise _no_variables(field)
        if field.__class__ in ATOMIC:
            equal.append((pos, field))
            features.append((_AT[pos], key_of(field)))
            continue
        if not is_formal(field):
            plain = False
            price += _STEADY_MAX  # it is looked into
            _check_holes(field)
            is_form = type(field) is Compound and field.name == OBJECT and len(field.args) == 3
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
    formals = [
        read_formal(one)
        for field in template.term
        for one, _ in formals_in(field)
        if type(one) is Compound
    ]
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


def _check_holes(value: Term) -> None:
    for formal, depth in formals_in(value):
        if isinstance(formal, Var):
            raise _no_variables(formal)
        read_formal(formal)
        if depth > PATTERN_DEPTH_MAX:
            raise NotAPattern(
                value=brief(formal),
                why=f"it stands {depth} levels deep, over the limit of {PATTERN_DEPTH_MAX}; "
                "ask for less and look at the rest yourself",
            )
