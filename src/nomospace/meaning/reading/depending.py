"""Functions: read against the classes, which are right by now; everything they name must exist.

None may in the end need itself: the paper's dependence tree ("Semantic Tuplespace", Figure 1) is a
tree, so that whatever is computed is computed from objects that tuples hold.

A function is written as `minus(Arrival.timeStamp, Departure.timeStamp)`:

    function := name "(" operand { "," operand } ")"
    when     := chain { "and" chain }
    chain    := operand sign operand { sign operand }
    operand  := Class "." property { "." property } | literal
    sign     := "=" | "!=" | "<" | "<=" | ">" | ">="

Names of classes may hold hyphens: there is no arithmetic to mistake them for. Literals are those of
predicates. `Formula` is what is read; what its names mean is asked afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, NamedTuple

from nomospace.meaning.functions import Functions
from nomospace.meaning.ontology import Dependence, Input, Ontology, Operand, Tie
from nomospace.meaning.reading.cycles import arrows, cycles
from nomospace.meaning.reading.drafts import FunctionDraft, NamedPiece
from nomospace.meaning.reading.faults import FAULTS_MAX, Faults
from nomospace.meaning.reading.naming import Groups
from nomospace.terms.predicate import Literal
from nomospace.terms.scanner import VALUES, ScannedWord, Scanner
from nomospace.terms.source import Span


class Depends:
    """The functions of all classes, read against the classes as they are without them."""

    def __init__(
        self, plain: Ontology, groups: Groups, functions: Functions, faults: Faults
    ) -> None:
        self.plain = plain
        self.functions = functions
        self.faults = faults
        self.places: dict[Dependence, NamedPiece] = {}
        self._of: dict[str, dict[str, list[Dependence]]] = {}
        self._computed: dict[str, dict[str, None]] = {}
        for group in groups.all:
            for one in group.drafts:
                for name, _ in one.depends:
                    self._computed.setdefault(group.name, {})[name.text] = None
        for group in groups.all:
            for one in group.drafts:
                for name, ways in one.depends:
                    self._read(group.name, name, ways)

    def of(self, name: str) -> Mapping[str, tuple[Dependence, ...]]:
        found = self._of.get(name, {})
        return {key: tuple(found[key]) for key in sorted(found)}

    def _read(self, owner: str, name: NamedPiece, ways: list[FunctionDraft]) -> None:
        self.faults.spend(len(self.plain.ancestors(owner)) + 1, name.place)
        if name.text not in self.plain.properties(owner):
            self._unknown_property(owner, name)
            return
        for way in ways:
            try:
                formula = parse_function(way.function.text)
            except NotAFormula as error:
                self._report("function", error.message, way.function, error.span, error.help)
                continue
            try:
                comparisons = parse_when(way.when.text) if way.when is not None else ()
            except NotAFormula as error:
                assert way.when is not None
                self._report("when", error.message, way.when, error.span, error.help)
                continue
            before = len(self.faults.found) + self.faults.more
            made = Dependence(
                owner,
                name.text,
                formula.name,
                self._arguments(owner, formula, way.function),
                () if way.when is None else self._ties(owner, comparisons, way.when),
            )
            if len(self.faults.found) + self.faults.more == before:
                self._of.setdefault(owner, {}).setdefault(name.text, []).append(made)
                self.places[made] = way.function

    def _report(
        self, code: str, message: str, text: NamedPiece, span: Span, help: str = ""
    ) -> None:
        self.faults.add(code, message, text.part(span), help)

    def _unknown_property(self, owner: str, name: NamedPiece) -> None:
        words = f"{owner} has no property {name.text[:60]}"
        help = f"declare it: properties: {{{name.text[:60]}: ...}}"
        self.faults.unknown("unknown-property", words, name, self.plain.properties(owner), help)

    def _arguments(self, owner: str, formula: Formula, text: NamedPiece) -> tuple[Operand, ...]:
        function = self.functions.get(formula.name)
        if function is None:
            words = f"there is no function {formula.name[:60]}"
            wanted = NamedPiece(formula.name, text.part(formula.name_span))
            help = "register it with nomospace.dependence_function"
            self.faults.unknown("unknown-function", words, wanted, self.functions, help)
        elif not function.arity_min <= len(formula.arguments) <= function.arity_max:
            given = len(formula.arguments)
            words = f"{function.name} takes {function.arity}, not {given}"
            help = "leave some out, give more, or take another function"
            self._report("arity", words, text, formula.name_span, help)
        arguments = []
        for part in formula.arguments:
            operand = self._operand(part, text)
            if isinstance(operand, Input) and operand.class_name == owner:
                words = f"{operand} is a property of the computed object itself"
                help = "a function's inputs come from other classes"
                self._report("function", words, text, part.span, help)
            arguments.append(operand)
        if not any(isinstance(operand, Input) for operand in arguments):
            words = "no input of this function comes from a class"
            help = "name at least one as Class.property"
            self._report("function", words, text, formula.name_span, help)
        return tuple(arguments)

    def _ties(
        self, owner: str, listed: tuple[FormulaComparison, ...], text: NamedPiece
    ) -> tuple[Tie, ...]:
        ties = []
        given: dict[str, None] = {}
        own: list[tuple[Input, Span]] = []
        for one in listed:
            tie = Tie(self._operand(one.left, text), one.sign, self._operand(one.right, text))
            sides = [side for side in (tie.left, tie.right) if isinstance(side, Input)]
            if not sides:
                self._report(
                    "when", "this compares two values", text, one.left.span, "name a class"
                )
            mine = [side for side in sides if side.class_name == owner]
            own += [
                (part.operand, part.span)
                for part, side in ((one.left, tie.left), (one.right, tie.right))
                if side in mine and isinstance(part.operand, Input)
            ]
            if len(mine) == 1 and tie.sign == "=":
                given[mine[0].path[0]] = None
            ties.append(tie)
        for side, span in own:
            self._own(owner, side, span, given, text)
        return tuple(ties)

    def _own(
        self, owner: str, side: Input, span: Span, given: dict[str, None], text: NamedPiece
    ) -> None:
        """A property of the computed object in a tie: the ties alone must give it its value."""
        name = side.path[0]
        self.faults.spend(len(self.plain.ancestors(owner)) + 1, text.place)
        if len(side.path) > 1:
            words = f"{owner}.{'.'.join(side.path)} lies inside a property of the computed object"
            help = f"only properties of {owner} itself can be filled in"
        elif name in self._functions_of(owner):
            words = f"{owner}.{name} is computed by a function of its own"
            help = "tie objects by properties that are not computed"
        elif name not in given:
            words = f"nothing gives {owner}.{name} a value"
            help = f"tie it by = to a property of another class: {owner}.{name} = Other.{name}"
        else:
            return
        self._report("when", words, text, span, help)

    def _functions_of(self, owner: str) -> list[str]:
        """The properties of a class that have functions, inherited ones too."""
        return [
            name
            for one in (owner, *self.plain.ancestors(owner))
            for name in self._computed.get(one, ())
        ]

    def _operand(self, part: FormulaPart, text: NamedPiece) -> Operand:
        """An operand with its class by canonical name; its path must exist as far as types tell."""
        operand = part.operand
        if not isinstance(operand, Input):
            return operand
        class_name = self.plain.canonical(operand.class_name)
        if class_name is None:
            span = Span(part.span.start, part.span.start + len(operand.class_name))
            words = f"{operand.class_name[:60]} is no class here"
            wanted = NamedPiece(operand.class_name, text.part(span))
            known = [name for one in self.plain.classes.values() for name in one.names]
            help = "declare it under `classes:`"
            self.faults.unknown("unknown-class", words, wanted, known, help)
            return operand
        kind: str = class_name
        for name in operand.path:
            if kind == "any":
                break
            properties = self.plain.properties(kind)
            if name not in properties:
                self._unknown_property(kind, NamedPiece(name, text.part(part.span)))
                break
            kind = properties[name]
        return Input(class_name, operand.path)


def check_trees(made: Ontology, depends: Depends, faults: Faults) -> None:
    """No class may need itself to be computed, over however many functions.

    A class needs what its functions name, and what its parents' functions name. So one graph has
    both steps, to an input and to a parent; parents alone have no rings, hence every ring in it
    passes a function.
    """
    cause: dict[tuple[str, str], Dependence] = {}
    for one in depends.places:
        for needed in one.inputs:
            cause.setdefault((one.owner, needed), one)
    if not cause:
        return
    edges: dict[str, list[str]] = {}
    for name, needed in cause:
        edges.setdefault(name, []).append(needed)
    for name, declared in made.classes.items():
        if declared.parents:
            edges.setdefault(name, []).extend(declared.parents)
    for cycle in islice(cycles(edges), FAULTS_MAX):
        steps = list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        needed_ones = [after for before, after in steps if (before, after) in cause]
        ring = [needed_ones[-1], *needed_ones[:-1]]
        used = next(cause[step] for step in steps if step in cause)
        faults.add(
            "function-cycle",
            f"{ring[0]} needs itself to be computed: {arrows(ring)}",
            depends.places[used].place,
            "one class of this ring must come from tuples, without functions",
        )


FORMULA_CHARS_MAX: Final = 4_000
"""The longest function or `when`, in characters."""
TIES_MAX: Final = 32
"""The most comparisons in one `when`."""

_REFUSED: Final = ("or", "not", "in")
_QUOTE: Final = "inside [ ] and { } put the function in quotes: YAML ends an item at a comma"
_FORM: Final = "a function is f(Class.property, 5), a tie is Class.property = Other.property"


class NotAFormula(Exception):  # caught by `closing`, which knows the place
    """A text is no function or no `when`; internal to this folder."""

    def __init__(self, message: str, span: Span, help: str = _FORM) -> None:
        super().__init__(message)
        self.message, self.span, self.help = message, span, help


class FormulaPart(NamedTuple):
    """An operand with its place in the text."""

    operand: Operand
    span: Span


class Formula(NamedTuple):
    """A function and its arguments."""

    name: str
    name_span: Span
    arguments: tuple[FormulaPart, ...]


class FormulaComparison(NamedTuple):
    """One comparison of a `when`."""

    left: FormulaPart
    sign: str
    right: FormulaPart


def parse_function(text: str) -> Formula:
    """Read a function.

    >>> found = parse_function("minus(Arrival.timeStamp, 5)")
    >>> found.name, [str(part.operand) for part in found.arguments]
    ('minus', ['Arrival.timeStamp', 'Literal(value=5)'])
    """
    reader = _Reader(text)
    name = reader.word("a function, as in minus(Arrival.at, Departure.at)")
    reader.skip("(", f"after {name.text}")
    arguments = [reader.operand()]
    while reader.takes(","):
        arguments.append(reader.operand())
    if reader.here.kind == "end":  # cut off at a comma: the commonest slip in YAML
        raise reader.unexpected("`)` or a comma", _QUOTE)
    reader.skip(")", "or a comma")
    reader.end("nothing stands after a function: its ties go into `when`")
    return Formula(name.text, name.span, tuple(arguments))


def parse_when(text: str) -> tuple[FormulaComparison, ...]:
    """Read the ties of a `when`; a chain becomes pairs.

    >>> [c.sign for c in parse_when("Trip.id = End.id = Start.id and End.at >= Start.at")]
    ['=', '=', '>=']
    """
    reader = _Reader(text)
    found: list[FormulaComparison] = []
    while True:
        left = reader.operand()
        if reader.here.kind != "sign":
            raise reader.unexpected("a comparison such as `= Departure.id`")
        while reader.here.kind == "sign":
            sign = reader.next().text
            right = reader.operand()
            found.append(FormulaComparison(left, sign, right))
            left = right
        if len(found) > TIES_MAX:
            raise NotAFormula(f"over {TIES_MAX} comparisons", left.span, "use a function for it")
        if not reader.takes("and"):
            break
    if reader.here.text in _REFUSED:
        raise reader.unexpected(
            "`and` or the end", "a `when` ties objects: all its comparisons must hold"
        )
    reader.end("join comparisons by `and`")
    return tuple(found)


class _Reader(Scanner):
    name = "function or tie"
    chars_max = FORMULA_CHARS_MAX
    too_long = "register a function in Python that does the work"
    advice = _FORM
    hyphens = True

    def fault(self, code: str, message: str, span: Span, help: str = "") -> NotAFormula:
        return NotAFormula(message, span, help or _FORM)

    def end(self, help: str) -> None:
        if self.here.kind != "end":
            raise self.unexpected("the end", help)

    def word(self, wanted: str) -> ScannedWord:
        if self.here.kind != "word":
            raise self.unexpected(wanted)
        return self.next()

    def operand(self) -> FormulaPart:
        token = self.here
        if token.kind in ("number", "string") or token.text in VALUES:
            return FormulaPart(Literal(self.literal("a value")), token.span)
        if token.kind != "word":
            raise self.unexpected("Class.property or a value")
        name = self.next()
        if self.sees("("):
            raise NotAFormula(
                f"`{name.text}(` is a function in a function",
                name.span,
                "give the inner one a property and a class of its own",
            )
        path: list[str] = []
        last = name.span
        while self.takes("."):
            found = self.word("the name of a property")
            path.append(found.text)
            last = found.span
        if not path:
            raise NotAFormula(
                f"`{name.text}` names no property",
                name.span,
                f"write {name.text}.property, and put strings in quotes",
            )
        return FormulaPart(Input(name.text, tuple(path)), Span(name.span.start, last.end))
