"""Questions: a template read for its meaning, with the options of how to look for answers.

    template := "(" field { "," field } ")" [ "key" Class ]
    field    := Class [ "=" id ] [ "where" predicate ] | literal | type
    id       := name | number | 'string'
    literal  := number | 'string' | "string" | true | false | null
    type     := int | float | number | str | bool | bytes | list | any

A bare word is a class unless it is one of the types or values. The predicate is the language of
`nomospace.terms.predicate` and ends at the comma or the bracket that closes the template.

A question without any class is *positional*: a plain Linda template, as long as the tuple and
compared field by field. In every other question the order of objects is free, plain fields keep
theirs, and further fields of a tuple do not hurt.

`parse_template` reads text, `question_of` a live template; both give the same `Question`, which is
all that a planner needs to know about what was asked. This is the template of the paper "Semantic
Tuplespace", 2.2, with its `key` of Definition 5.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final, NamedTuple, TypeAlias

from nomospace.errors import CallerError
from nomospace.meaning.ontology import Ontology
from nomospace.terms.conditions import Test, compiled
from nomospace.terms.encoding import encode
from nomospace.terms.formals import ANY, KINDS, formals_in, has_holes, is_formal, read_formal
from nomospace.terms.objects import MISSING, Missing, is_object
from nomospace.terms.predicate import FaultyPredicate, PathStart, parse, path_starts, without_class
from nomospace.terms.scanner import VALUES, Scanner
from nomospace.terms.source import FaultyText, Source, Span
from nomospace.terms.templates import WIDTH_MAX, Template
from nomospace.terms.text import show
from nomospace.terms.values import ATOMIC, Compound, PropertiesTerm, Term, parts_of, same, weight

TEMPLATE_CHARS_MAX: Final = 20_000
"""The longest template text, in characters."""
TEXT_MAX: Final = 2_000
"""How much is shown of a value that a field asks for, in characters."""
SET_MAX: Final = 6
"""How many tuples a set has at most, unless the question says otherwise."""
SET_LIMIT: Final = 16
"""The most that a question may say: the number of ways to connect tuples grows with their power."""
ANSWERS_MAX: Final = 100_000
"""How many answers are given at most, unless the question says otherwise."""
NAMES_SHOWN: Final = 12
"""How many properties are listed where one was asked for that a class does not have."""
REMEMBERED_BYTES_MAX: Final = 1_000_000
"""How much the objects may be of which a test knows what it said: it keeps them in memory."""
COMPARED_MAX: Final = 200
"""Among how many of them one is looked for that is spelled alike."""
CORRELATE: Final = ("auto", "always", "never")


class ClassField(NamedTuple):
    """Asks for an object of a class, with an id, a predicate or equal properties."""

    class_name: str
    """As it was written; a synonym is not replaced."""
    id: Term | Missing = MISSING
    """The id the object must have."""
    predicate: str = ""
    equal: PropertiesTerm | None = None
    """An object, given as such: the properties of what is found equal its own."""


class LiteralField(NamedTuple):
    """Asks for a plain value."""

    value: Term


class TypeField(NamedTuple):
    """Asks for a plain value of a kind (`nomospace.terms.formals.KINDS`); `any` for any value."""

    kind: str


class PatternField(NamedTuple):
    """Asks for a plain value by a pattern that only Python can say: `between(1, 9)`."""

    pattern: Term


Field: TypeAlias = ClassField | LiteralField | TypeField | PatternField


class Question(NamedTuple):
    """What is asked, and how far to look for it."""

    fields: tuple[Field, ...]
    key: str | None = None
    """The class of the object that all tuples of a set must hold; none: any link will do."""
    correlate: str = "auto"
    max_set: int = SET_MAX
    limit: int = ANSWERS_MAX

    @property
    def positional(self) -> bool:
        """Whether it is a plain Linda template, which names no class.

        >>> parse_template("('job', int)").positional, parse_template("(Car, int)").positional
        (True, False)
        """
        return not any(isinstance(field, ClassField) for field in self.fields)

    @property
    def name(self) -> bytes:
        """What tells it from all other questions; `1` and `1.0` are two."""
        fields: list[Term] = [
            (type(field).__name__, *[() if part is MISSING else (part,) for part in field])
            for field in self.fields
        ]
        return encode((*fields, self.key, self.correlate, self.max_set, self.limit))

    def __str__(self) -> str:
        listed = ", ".join(map(field_text, self.fields))
        return f"({listed})" + (f" key {self.key}" if self.key is not None else "")


class FaultyTemplate(FaultyText):
    """A template's text cannot be read, or names what the ontology does not know."""

    code = "template.faulty"


class BadQuestion(CallerError):
    """A question has an option, or a field, that means nothing."""

    code = "question.bad"
    words = "{what}: {why}"
    what: str
    why: str


def field_text(field: Field) -> str:
    """A field as a template's text has it; patterns of Python as their terms.

    >>> field_text(ClassField("Car", "c1", "price < 5"))
    'Car = c1 where price < 5'
    """
    match field:
        case ClassField(class_name, identity, predicate, equal):
            if equal is not None:
                return show(equal, limit=TEXT_MAX)
            words = (
                class_name
                if identity is MISSING
                else f"{class_name} = {show(identity, limit=TEXT_MAX)}"
            )
            return f"{words} where {predicate}" if predicate else words
        case LiteralField(value):
            return repr(value) if type(value) is str else show(value, limit=TEXT_MAX)
        case TypeField(kind):
            return kind
        case PatternField(pattern):
            return show(pattern, limit=TEXT_MAX)


def checked(question: Question) -> Question:
    """The question, if its options mean something."""
    if question.correlate not in CORRELATE:
        raise BadQuestion(
            what=f"correlate {question.correlate!r}", why="it is auto, always or never"
        )
    if not 1 <= question.max_set <= SET_LIMIT:
        raise BadQuestion(what=f"max_set {question.max_set}", why=f"it is 1 to {SET_LIMIT}")
    if question.limit < 1:
        raise BadQuestion(what=f"limit {question.limit}", why="at least one answer must be allowed")
    if question.key is not None and question.positional:
        raise BadQuestion(what=f"key {question.key}", why="a template without classes has no key")
    return question


# What a field accepts.


def value_test(field: Field) -> Test:
    """Whether a plain value is one that a field asks for; objects are not looked at.

    >>> value_test(TypeField("int"))(True), value_test(LiteralField(1))(1.0)
    (False, False)
    """
    match field:
        case LiteralField(value):
            if type(value) is str:
                return lambda found: type(found) is str and found == value
            return lambda found: same(found, value)
        case TypeField("any"):
            return lambda found: True
        case TypeField(kind):
            kinds = KINDS[kind]
            return lambda found: found.__class__ in kinds
        case PatternField(pattern):
            template = Template.from_term((pattern,))
            return lambda found: template.matches((found,))
        case ClassField():
            return lambda found: False


def _remembering(test: Test) -> Test:
    """The same, which knows what it said of the last objects: who joins asks again and again."""
    said: dict[int, tuple[Term, bool]] = {}
    room = REMEMBERED_BYTES_MAX

    def ask(found: Term) -> bool:
        nonlocal room
        known = said.get(id(found))
        if known is not None:  # and is this very object, as it is kept
            return known[1]
        answer = test(found)
        room -= weight(found)
        if room < 0:
            said.clear()
            room = REMEMBERED_BYTES_MAX
        else:
            said[id(found)] = found, answer
        return answer

    return ask


def object_test(field: ClassField) -> Test | None:
    """What a field asks of an object beside its class, or none where the class is enough.

    >>> from nomospace.terms import obj
    >>> cheap = object_test(ClassField("Car", "c1", "price < 5"))
    >>> cheap(obj("Car", "c1", price=4)), cheap(obj("Car", "c2", price=4))
    (True, False)
    """
    tests: list[Test] = []
    if field.id is not MISSING:
        identity = field.id
        tests.append(lambda found: same(parts_of(found)[1], identity))
    if field.equal is not None:
        listed = parts_of(field.equal)[2]
        tests.append(lambda found: same(parts_of(found)[2], listed))
    if field.predicate:
        tests.append(_remembering(compiled(field.predicate, field=False)))
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda found: all(test(found) for test in tests)


# From live templates.


def question_of(
    template: Template,
    *,
    key: str | None = None,
    correlate: str = "auto",
    max_set: int = SET_MAX,
    limit: int = ANSWERS_MAX,
) -> Question:
    """Read a live template for its meaning.

    An object stands for those with the same properties, and with its id if it has one; one that has
    only an id for the object of that id.

    >>> from nomospace.terms import a, obj
    >>> print(question_of(Template.of([a("Car", "price < 5"), obj("Owner", "o1"), int, "x"])))
    (Car where price < 5, Owner = o1, int, 'x')
    """
    fields = tuple([_field_of(term) for term in template.term])
    question = checked(Question(fields, key, correlate, max_set, limit))
    if not question.positional:
        for term in template.term:
            for formal, _ in formals_in(term):
                if type(formal) is Compound and read_formal(formal).same is not None:
                    raise BadQuestion(
                        what=show(formal, limit=80),
                        why="fields under one name have no meaning beside classes; use a predicate",
                    )
    return question


def _field_of(term: Term) -> Field:
    if is_object(term) and not formals_in(term):
        class_name, identity, listed = term.args
        return ClassField(
            class_name,
            MISSING if identity is None else identity,
            equal=term if listed or identity is None else None,
        )
    if term.__class__ in ATOMIC:
        return LiteralField(term)
    if not is_formal(term):
        return PatternField(term) if has_holes(term) else LiteralField(term)
    if term is ANY:
        return TypeField("any")
    formal = read_formal(term)
    if formal.class_name is not None:
        return ClassField(formal.class_name, predicate=formal.predicate or "")
    if formal.bounds is None and formal.same is None and formal.predicate is None:
        return TypeField(formal.kind)
    return PatternField(term)


def unknown_start(
    ontology: Ontology, class_name: str, text: str
) -> tuple[PathStart, str, str] | None:
    """A path of several names that begins with neither a property nor the class; what to say.

    None, too, where the ontology declares no properties of the class: then nothing is known.
    """
    own, known = ontology.names(class_name), ontology.properties_below(class_name)
    for one in path_starts(text) if known else ():
        if one.next is None or one.name in own or one.name in known:
            continue
        near = get_close_matches(one.name[:40], sorted(known)[:COMPARED_MAX], n=1)
        listed = ", ".join(sorted(known)[:NAMES_SHOWN])
        more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
        what = f"{class_name} has no property `{one.name[:40]}`"
        return one, what, (f"did you mean `{near[0]}`? " if near else "") + f"it has {listed}{more}"
    return None


def check_starts(template: Template, ontology: Ontology) -> None:
    """Raise `BadQuestion` for a predicate that can never hold, as its path begins nowhere.

    In a large ontology that takes too long to see for every call.
    """
    for term in template.term if ontology.is_small else ():
        if term is not ANY and is_formal(term):
            formal = read_formal(term)
            if formal.class_name is not None and formal.predicate and "." in formal.predicate:
                found = unknown_start(ontology, formal.class_name, formal.predicate)
                if found is not None:
                    raise BadQuestion(what=found[1], why=found[2])


# From text.


def parse_template(
    text: str,
    ontology: Ontology | None = None,
    *,
    correlate: str = "auto",
    max_set: int = SET_MAX,
    limit: int = ANSWERS_MAX,
) -> Question:
    """Read a template's text; with an ontology, classes that it does not know are refused.

    >>> parse_template("(Car where price.amount < 5000, CarInsurance = B, 17, str) key Car").fields
    (ClassField(class_name='Car', id=MISSING, predicate='price.amount < 5000', equal=None), \
ClassField(class_name='CarInsurance', id='B', predicate='', equal=None), \
LiteralField(value=17), TypeField(kind='str'))
    >>> parse_template("(Car where price <)")
    Traceback (most recent call last):
    nomospace.meaning.question.FaultyTemplate: <template>:1:19: error [predicate.syntax] here \
should stand a property or a value, not the end
      1 | (Car where price <)
        |                   ^
    """
    fields, key = _Parser(text, ontology).whole()
    return checked(Question(fields, key, correlate, max_set, limit))


class _Parser(Scanner):
    name = "template"
    error = FaultyTemplate
    chars_max = TEMPLATE_CHARS_MAX
    too_long = "ask for less"
    advice = "write (Class = id where predicate, value, type) key Class"
    hyphens = True

    def __init__(self, text: str, ontology: Ontology | None) -> None:
        self.ontology = ontology
        super().__init__(text)

    def whole(self) -> tuple[tuple[Field, ...], str | None]:
        self.skip("(")
        fields = [self.field()]
        while self.takes(","):
            fields.append(self.field())
        if len(fields) > WIDTH_MAX:
            raise self.fault(
                "size",
                f"{len(fields)} fields are over {WIDTH_MAX}",
                Span(0, len(self.text)),
                "ask for less",
            )
        if not self.takes(")"):
            raise self.unexpected("`,` or `)`", "a predicate stands after `where`")
        key = None
        if self.takes("key"):
            key = self.class_name()
            if not any(isinstance(field, ClassField) for field in fields):
                raise self.fault(
                    "key",
                    "a template without classes has no key",
                    self.tokens[self.at - 1].span,
                    "leave `key` out",
                )
        if self.here.kind != "end":
            raise self.unexpected("`key Class` or the end" if key is None else "the end")
        return tuple(fields), key

    def class_name(self) -> str:
        token = self.here
        if token.kind != "word" or token.text in KINDS or token.text in VALUES:
            raise self.unexpected("the name of a class")
        self.at += 1
        if self.ontology is not None and self.ontology.canonical(token.text) is None:
            known = [name for one in self.ontology.classes.values() for name in one.names]
            near = get_close_matches(token.text, known, n=1)
            words = f"{token.text}: the ontology {self.ontology.name} has no such class"
            other = "`nomospace ontology show` lists its classes"
            help = f"did you mean `{near[0]}`?" if near else other
            raise self.fault("class", words, token.span, help)
        return token.text

    def field(self) -> Field:
        token = self.here
        if token.kind == "word" and token.text in KINDS:
            self.at += 1
            return TypeField(token.text)
        if token.kind in ("number", "string") or token.text in VALUES:
            return LiteralField(self.literal("a value"))
        if token.kind != "word":
            raise self.unexpected("a class, a value or a type")
        name = self.class_name()
        identity: Term | Missing = MISSING
        if self.takes("="):
            identity = self.identity()
        predicate = ""
        if self.takes("where"):
            predicate = self.predicate(name)
        return ClassField(name, identity, predicate)

    def identity(self) -> Term:
        token = self.here
        if token.kind == "word" and token.text not in VALUES:
            self.at += 1
            return token.text
        if token.kind not in ("number", "string"):
            raise self.unexpected("an id", "write a name, a number or a 'string'")
        return self.literal("an id")

    def predicate(self, class_name: str) -> str:
        start = self.here.span.start
        depth = 0
        while self.here.kind != "end":
            if depth == 0 and (self.sees(",") or self.sees(")")):
                break
            if self.here.kind == "mark":
                depth += (self.here.text in "([") - (self.here.text in ")]")
            self.at += 1
        text = self.text[start : self.here.span.start].strip()
        try:
            parse(text, field=False)
        except FaultyPredicate as error:
            source, found = Source(self.text, "<template>"), error.diagnostic.moved(start)
            raise FaultyTemplate(source=source, diagnostic=found) from None
        if self.ontology is None:
            return without_class(text, class_name)
        self.check_paths(class_name, text, start)
        return without_class(text, *self.ontology.names(class_name))

    def check_paths(self, class_name: str, text: str, offset: int) -> None:
        """Refuse a path of several names that begins with neither a property nor the class.

        A single name may be any: an object may have more than its class declares.
        """
        assert self.ontology is not None
        found = unknown_start(self.ontology, class_name, text)
        if found is not None:
            one, what, help = found
            raise self.fault("property", what, one.span.moved(offset), help)
