"""Writes goals and operations of generated laws, as text.

A writer keeps a `ClauseScope`: which variables of the clause have values, and of what shape. So
nearly all that it writes can hold, and nothing it writes is certainly wrong; but it also writes,
rarely, what stops an evaluation: a text added to a number, a variable that only one branch has
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeAlias

from nomospace.law.tree import UNITS
from nomospace.terms import quote, show
from nomospace_lab.testing.generate.library import Helper
from nomospace_lab.testing.generate.shapes import (
    AGENT,
    AGENTS_LIST,
    ANY,
    ANY_LIST,
    ATOM,
    ATOMS_LIST,
    LARGE,
    NUMBER,
    NUMBERS,
    NUMBERS_LIST,
    TermSort,
    draw,
    random_shape,
)

ODDITY: Final = 0.01
"""How often a part that should have one shape is written with another."""
COMPARISONS: Final = ("<", ">", "=<", ">=", "=:=", "=\\=")


@dataclass(slots=True)
class Vocabulary:
    """The terms that a law is about. `counter` names facts with one number in them."""

    messages: tuple[TermSort, ...]
    facts: tuple[TermSort, ...]
    obligations: tuple[TermSort, ...]
    counter: TermSort


@dataclass(slots=True)
class ClauseScope:
    """The variables of a clause at one point of it."""

    message: bool
    bound: dict[str, TermSort] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # without a value, or perhaps without
    names: list[int] = field(default_factory=lambda: [0])
    owed: list[str] = field(default_factory=list)  # goals that give an operation its values
    acts: bool = True  # whether operations may stand here

    def branch(self, *, acts: bool = True) -> ClauseScope:
        """The same variables, to learn others on a way that may not be taken."""
        return ClauseScope(
            self.message, dict(self.bound), list(self.open), self.names, [], self.acts and acts
        )

    def of(self, shape: TermSort) -> list[str]:
        """The variables that have values of a shape."""
        if shape is ANY:
            return list(self.bound)
        return [name for name, known in self.bound.items() if known == shape]


Producer: TypeAlias = "Callable[[GoalWriter, ClauseScope], str]"


class GoalWriter:
    """Writes goals from a vocabulary and the helpers that may be called."""

    def __init__(self, rng: Random, words: Vocabulary, *, large: bool = False) -> None:
        self.rng = rng
        self.words = words
        self.simple = {**SIMPLE, GoalWriter.large: 2} if large else SIMPLE
        self.helpers: list[Helper] = []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    # -- variables and terms -----------------------------------------------------------------

    def new(self, scope: ClauseScope) -> str:
        """A variable that the clause has not used."""
        scope.names[0] += 1
        return f"{self.rng.choice('ABKLNPQTVXZ')}{scope.names[0]}" + ("'" * self.chance(0.05))

    def bind(self, scope: ClauseScope, shape: TermSort) -> str:
        """A new variable that has a value from here on."""
        name = self.new(scope)
        scope.bound[name] = shape
        return name

    def loose(self, scope: ClauseScope) -> str:
        """A variable without a value, new or, seldom, one from a way not surely taken."""
        if scope.open and self.chance(0.5):
            return self.rng.choice(scope.open)
        name = self.new(scope)
        scope.open.append(name)
        return name

    def constant(self, shape: TermSort) -> str:
        return show(draw(self.rng, shape, ODDITY))

    def pattern(self, scope: ClauseScope, shape: TermSort, *, constants: float = 0.15) -> str:
        """A pattern of a shape; its new variables have values once it has matched."""
        roll = self.rng.random()
        if roll < 0.08:
            return "_"
        if roll < 0.08 + constants and shape is not ANY:
            return self.constant(shape)
        known = scope.of(shape)
        if known and roll > 0.93:
            return self.rng.choice(known)
        if shape.sort == "word":
            return shape.name
        if shape.sort in ("struct", "row") and self.chance(0.9):
            parts = [self.pattern(scope, part, constants=constants) for part in shape.parts]
            return _struct(shape, parts)
        if shape.sort == "list" and self.chance(0.5):
            return self.list_pattern(scope, shape, constants)
        return self.bind(scope, shape)

    def list_pattern(self, scope: ClauseScope, shape: TermSort, constants: float) -> str:
        count = self.rng.choice((0, 1, 1, 2))
        items = [self.pattern(scope, shape.parts[0], constants=constants) for _ in range(count)]
        if not items or self.chance(0.35):
            return _listing(items)
        tail = "_" if self.chance(0.2) else self.bind(scope, shape)
        return f"[{','.join(items)}|{tail}]"

    def expression(self, scope: ClauseScope, shape: TermSort, depth: int = 2) -> str:
        """A term of a shape that has a value here."""
        if self.chance(ODDITY):
            shape = random_shape(self.rng)
        known = scope.of(shape)
        if known and self.chance(0.6):
            return self.rng.choice(known)
        if shape is AGENT and self.chance(0.3):
            return "Self"
        if shape is ANY:
            return self.expression(scope, random_shape(self.rng, depth), depth)
        if depth and shape.sort in ("struct", "row"):
            parts = [self.expression(scope, part, depth - 1) for part in shape.parts]
            return _struct(shape, parts)
        if depth and shape.sort == "list":
            count = self.rng.choice((0, 1, 2, 3))
            items = [self.expression(scope, shape.parts[0], depth - 1) for _ in range(count)]
            if items and known and self.chance(0.3):
                return f"[{','.join(items)}|{self.rng.choice(known)}]"
            return _listing(items)
        return self.constant(shape)

    def arithmetic(self, scope: ClauseScope, depth: int = 2) -> str:
        """An expression that is a number here, nearly always."""
        if depth == 0 or self.chance(0.35):
            known = scope.of(NUMBER)
            if known and self.chance(0.7):
                return self.rng.choice(known)
            return show(self.rng.choice(NUMBERS))
        left = self.arithmetic(scope, depth - 1)
        right = self.arithmetic(scope, depth - 1)
        some = self.pick("1", "2", "3", "-2", "2.0")
        return self.pick(
            f"({left}+{right})",
            f"({left}+{right})",
            f"({left}-{right})",
            f"({left}*{right})",
            f"({left}/{some})",
            f"(truncate({left})//{self.pick('2', '-3', '1')})",
            f"(truncate({left}) mod {self.pick('2', '-3', '3')})",
            f"(truncate({left}) rem {self.pick('2', '-3', '3')})",
            f"min({left},{right})",
            f"max({left},{right})",
            f"(truncate({left})**{self.pick('2', '3', '0')})",
            f"(2^{self.pick('3', '10', '0')})",
            f"(-({left}))",
            f"+({left})",
            f"abs({left})",
            f"sign({left})",
            f"floor({left})",
            f"ceiling({left}/2)",
            f"round({left}*1.5)",
            f"truncate({left})",
        )

    def some_list(self, scope: ClauseScope, *shapes: TermSort) -> tuple[str, TermSort]:
        """A list that has a value here, and its shape."""
        known = [name for name, shape in scope.bound.items() if shape.sort == "list"]
        if known and not shapes and self.chance(0.6):
            name = self.rng.choice(known)
            return name, scope.bound[name]
        shape = self.rng.choice(shapes or (NUMBERS_LIST, ATOMS_LIST, AGENTS_LIST))
        known = scope.of(shape)
        if known and self.chance(0.6):
            return self.rng.choice(known), shape
        count = self.rng.choice((1, 2, 3, 3, 4))
        return _listing([self.expression(scope, shape.parts[0]) for _ in range(count)]), shape

    def result(self, scope: ClauseScope, shape: TermSort, bound: float = 0.12) -> str:
        """What stands where a goal gives a value: mostly a new variable."""
        if self.chance(bound):
            return self.pick("_", self.expression(scope, shape))
        return self.bind(scope, shape)

    # -- goals -------------------------------------------------------------------------------

    def goal(self, scope: ClauseScope, depth: int) -> str:
        """One goal, or a few that belong together."""
        if depth and self.chance(0.28):
            return _weighted(self.rng, COMPOSITE)(self, scope, depth)
        return _weighted(self.rng, self.simple)(self, scope)

    def goals(self, scope: ClauseScope, depth: int, count: int) -> list[str]:
        return [self.goal(scope, depth) for _ in range(count)]

    def body(self, scope: ClauseScope, depth: int, goals: int, operations: int) -> str:
        """Goals with operations among them, joined by commas; never empty."""
        parts = self.goals(scope, depth, goals)
        for _ in range(operations):
            if scope.acts:
                # An operation's variables may get their values later, so mostly it comes last.
                parts.append(self.operation(scope))
                if self.chance(0.3):
                    parts.append(self.goal(scope, depth))
        parts += scope.owed
        scope.owed = []
        return ", ".join(parts) or "true"

    def sense(self, scope: ClauseScope) -> str:
        roll = self.rng.random()
        if roll < 0.08:
            return f"{self.bind(scope, ANY)}@CS"
        if roll < 0.12:
            return f"{self.pattern(scope, self.rng.choice((ANY_LIST, ATOM)), constants=0)}@CS"
        fact = self.rng.choice(self.words.facts)
        if roll < 0.2 and fact.sort == "struct":
            return self.sense_repeated(scope, fact)
        if roll < 0.3:
            return self.sense_through(scope, fact, "{}@CS")
        return f"{self.pattern(scope, fact)}@CS"

    def sense_repeated(self, scope: ClauseScope, fact: TermSort) -> str:
        """One variable at every place of one shape: `bid(X,X)@CS`."""
        again = self.rng.choice(fact.parts)
        name = self.bind(scope, again)
        parts = [name if part == again else self.pattern(scope, part) for part in fact.parts]
        return f"{_struct(fact, parts)}@CS"

    def sense_through(self, scope: ClauseScope, shape: TermSort, form: str) -> str:
        """`O = job(A,B), O@CS`: what is sensed is a variable that holds a partial term."""
        name = self.bind(scope, shape)
        return f"{name} = {self.pattern(scope, shape)}, {form.format(name)}"

    def obligation(self, scope: ClauseScope) -> str:
        shape = self.rng.choice(self.words.obligations)
        roll = self.rng.random()
        if roll < 0.2:
            return f"obligation({self.bind(scope, ANY)})@CS"
        if roll < 0.45:
            return self.sense_through(scope, shape, "obligation({})@CS")
        return f"obligation({self.pattern(scope, shape)})@CS"

    def clock(self, scope: ClauseScope) -> str:
        time = self.result(scope, NUMBER, 0.05)
        return self.pick(f"clock({time})", f"clock({time})@CS")

    def this_law(self, scope: ClauseScope) -> str:
        name = self.pick("_", "drawn", "other") if self.chance(0.5) else self.bind(scope, ATOM)
        return f"thisLaw({name},{self.result(scope, ATOM, 0)})"

    def unify(self, scope: ClauseScope) -> str:
        roll = self.rng.random()
        if roll < 0.3:
            shape = random_shape(self.rng)
            value = self.expression(scope, shape)
            return f"{self.bind(scope, shape)} = {value}"
        known = [name for name, shape in scope.bound.items() if shape.parts]
        if roll < 0.6 and known:
            name = self.rng.choice(known)
            sides = [name, self.pattern(scope, scope.bound[name], constants=0.05)]
        elif roll < 0.8:
            shape = random_shape(self.rng)
            sides = [self.expression(scope, shape), self.pattern(scope, shape, constants=0.05)]
        elif roll < 0.85:
            sides = [self.loose(scope), self.expression(scope, ANY)]
        else:
            return self.tie(scope)
        self.rng.shuffle(sides)
        return " = ".join(sides)

    def tie(self, scope: ClauseScope) -> str:
        """Variables tied to each other before one of them has a value."""
        shape = self.rng.choice((NUMBER, ATOM, ANY_LIST))
        value = self.expression(scope, shape)
        a, b, c = self.bind(scope, shape), self.bind(scope, shape), self.bind(scope, ANY)
        return self.pick(
            f"{a} = {b}, {c} = k({a}), {b} = {value}",
            f"f({a},{b},{c}) = f({b},{c},{value})",
            f"{c} = [{a}|{b}], {a} = {b}, {b} = {value}",
            f"{c} = g({a},_), g({b},h({a})) = g({value},h({b}))",
            f"[{a},{b}|{c}] = [{b},{value},x,y]",
            f"{c} = h({a},{b}), ( {a} == {b} -> {a} = 1 ; {a} = {b} ), {b} = {value}",
            f"{c} = {a}, {a} \\== {b}, {a} = {value}, {b} = {a}",
            f"( {a} = s({a}) -> {c} = 1 ; {c} = 2 ), {b} = {value}, {a} = {b}",
        )

    def large(self, scope: ClauseScope) -> str:
        """Constants that cost something to compare, with each other and with what there is."""
        text, other = (show(self.rng.choice(LARGE)) for _ in range(2))
        value = self.expression(scope, random_shape(self.rng, 1))
        a, b, c = (self.bind(scope, ANY) for _ in range(3))
        return self.pick(
            f"{a} = {text}, {b} = {text}, {c} = {other}, ( {a} == {c} ; {a} == {b} )",
            f"{a} = {text}, {b} = {value}, member({c},[{b},{other},{a},{text}]), {c} == {a}",
            f"{a} = h({text},{b},{c}), {b} = {value}, {a} = h(_,{b},{other}), {a} = {a}",
            f"{a} = {value}, findall(h({text},{a}),member(_,[1,2]),[{b},{c}]), {b} == {c}",
            f"{a} = {value}, {b} = [{text},{other},{a}], {c} = [{a}|{b}], delete({b},{text},_)",
            f"{a} = {text}, {b} = k({a},{value}), {b} = k({c},_), {c} == {text}",
            f"{a} = {value}, {b} = {other}, {c} = {text}, ( {a} = {b} -> {c} = {b} ; {c} \\= {b} )",
            f"{a} = {text}, {b} = {a}, nth0(_,[{value},{other},{b}],{text}), {c} = {b}",
        )

    def differ(self, scope: ClauseScope) -> str:
        shape = random_shape(self.rng, 1)
        return f"{self.expression(scope, shape)} \\= {self.pattern(scope.branch(), shape)}"

    def same(self, scope: ClauseScope) -> str:
        shape = self.rng.choice((*scope.bound.values(), random_shape(self.rng, 1)))
        left, right = self.expression(scope, shape), self.expression(scope, shape)
        roll = self.rng.random()
        if roll < 0.1:
            return f"{self.loose(scope)} \\== {right}"
        if roll < 0.5:
            return f"{left} == {self.pick(left, left, right)}"
        return f"{left} \\== {right}"

    def compare(self, scope: ClauseScope) -> str:
        left, right = self.arithmetic(scope), self.arithmetic(scope)
        if self.chance(0.15):
            return f"{left} =:= {self.pick(left, f'{left}+0.0')}"
        return f"{left} {self.pick(*COMPARISONS)} {right}"

    def is_(self, scope: ClauseScope) -> str:
        if self.chance(0.15):
            holder = self.new(scope)
            known = self.arithmetic(scope, 1)
            holds = self.pick(f"{known}+{known}", f"max({known},-(1))", f"abs({known})")
            return f"{holder} = {holds}, {self.bind(scope, NUMBER)} is {holder}*2"
        if self.chance(0.05):
            wrong = self.pick("2**5000", "1.0e300*1.0e300", "10.0**400", "1/0", "2 mod 0", "3^9999")
            return f"{self.bind(scope, NUMBER)} is {wrong}"
        if self.chance(0.03) and scope.bound:
            known = self.rng.choice(list(scope.bound))
            return f"{self.bind(scope, NUMBER)} is 1+{known}"
        expression = self.arithmetic(scope)
        if self.chance(0.08):
            return f"{self.expression(scope, NUMBER)} is {expression}"
        return f"{self.bind(scope, NUMBER)} is {expression}"

    def trivial(self, scope: ClauseScope) -> str:
        return self.pick("true", "not(fail)", "( fail ; true )", "\\+ fail")

    def call(self, scope: ClauseScope) -> str:
        """A call of a helper that may be called here."""
        helpers = [
            helper
            for helper in self.helpers
            if (scope.acts or not helper.acts) and (scope.message or helper.name != "passed")
        ]
        if not helpers:
            return self.builtin(scope)
        helper = self.rng.choice(helpers)
        pairs = list(zip(helper.modes, helper.shapes, strict=True))
        # Values first: what the call itself finds is none of them.
        args = [self.expression(scope, shape) if mode == "+" else "" for mode, shape in pairs]
        for at, (mode, shape) in enumerate(pairs):
            if mode == "-":
                args[at] = self.result(scope, shape, 0.06)
            elif mode == "?":
                args[at] = self.loose(scope) if self.chance(0.8) else self.expression(scope, shape)
        return f"{helper.name}({','.join(args)})" if args else helper.name

    # -- built-ins ---------------------------------------------------------------------------

    def builtin(self, scope: ClauseScope) -> str:
        return self.rng.choice(BUILTIN_CALLS)(self, scope)

    def lists(self, scope: ClauseScope) -> str:
        """A built-in about one list."""
        items, shape = self.some_list(scope)
        part = shape.parts[0]
        name = self.pick("member", "member", "delete", "length", "nth0", "reverse", "sort")
        if name == "member":
            return f"member({self.pattern(scope, part)},{items})"
        if name == "delete":
            wanted = self.pick(self.pattern(scope.branch(), part), self.expression(scope, part))
            return f"delete({items},{wanted},{self.result(scope, shape)})"
        if name == "length":
            return f"length({items},{self.result(scope, NUMBER)})"
        if name == "nth0":
            index = self.pick("0", "1") if self.chance(0.5) else self.bind(scope, NUMBER)
            return f"nth0({index},{items},{self.result(scope, part)})"
        return f"{name}({items},{self.result(scope, shape)})"

    def append(self, scope: ClauseScope) -> str:
        items, shape = self.some_list(scope)
        more = self.expression(scope, shape)
        roll = self.rng.random()
        if roll < 0.35:
            return f"append({items},{more},{self.result(scope, shape)})"
        if roll < 0.6:
            one, two = self.result(scope, shape, 0.05), self.result(scope, shape, 0.05)
            return f"append({one},{two},{items})"
        if roll < 0.7:
            head = self.bind(scope, shape.parts[0])
            return f"append(_,[{head}|{self.bind(scope, shape)}],{items})"
        whole = self.bind(scope, shape)
        rest = self.bind(scope, shape)
        if roll < 0.85:
            return f"append({items},{more},{whole}), append({items},{rest},{whole})"
        return f"append({items},{more},{whole}), append({rest},{more},{whole})"

    def sum_list(self, scope: ClauseScope) -> str:
        items, _ = self.some_list(scope, NUMBERS_LIST)
        return f"sum_list({items},{self.result(scope, NUMBER)})"

    def between(self, scope: ClauseScope) -> str:
        if self.chance(0.3):
            return f"between(0,{self.pick('3', '9')},{self.expression(scope, NUMBER)})"
        low = self.pick("0", "1", "-1")
        return f"between({low},{self.pick('2', '3', '4')},{self.bind(scope, NUMBER)})"

    def atom_concat(self, scope: ClauseScope) -> str:
        one, two = self.expression(scope, ATOM), self.expression(scope, ATOM)
        a, b = self.bind(scope, ATOM), self.bind(scope, ATOM)
        return self.pick(
            f"atom_concat({one},{two},{a}), {b} = {a}",
            f"atom_concat({a},{b},{one})",
            f"atom_concat({one},{two},{a}), atom_concat({one},{b},{a})",
            f"atom_concat({one},{two},{a}), atom_concat({b},{two},{a})",
            f"atom_concat({a},x,abx), atom_concat({b},1,b1)",
        )

    def texts(self, scope: ClauseScope) -> str:
        text = self.expression(scope, ATOM)
        name = self.pick("atom_length", "upcase_atom", "split_string")
        if name == "atom_length":
            return f"atom_length({text},{self.result(scope, NUMBER)})"
        if name == "upcase_atom":
            return f"upcase_atom({text},{self.result(scope, ATOM)})"
        separators = self.pick("'-'", "' '", "'-b'", "''")
        return f"split_string({text},{separators},{self.result(scope, ATOMS_LIST)})"

    def sub_atom(self, scope: ClauseScope) -> str:
        text = self.pick(self.expression(scope, ATOM), "abcab")
        start, size, after = (self.bind(scope, NUMBER) for _ in range(3))
        part = self.bind(scope, ATOM)
        return self.pick(
            f"sub_atom({text},{start},{size},{after},{part})",
            f"sub_atom({text},0,{size},{after},{part}), {start} = 0",
            f"sub_atom({text},{start},1,{after},{part}), {size} = 1",
            f"sub_atom({text},{start},{size},0,{part}), {after} = 0",
            f"sub_atom(abcab,{start},{size},{after},ab), {part} = ab",
            f"sub_atom({text},0,1,_,{part}), {start} = 0, {size} = 1, {after} = 2",
        )

    def atom_number(self, scope: ClauseScope) -> str:
        text = self.pick("'12'", "'2.5'", "'-3'", "abc", self.expression(scope, ATOM))
        if self.chance(0.5):
            return f"atom_number({text},{self.result(scope, NUMBER)})"
        number = self.expression(scope, NUMBER)
        return f"atom_number({self.bind(scope, ATOM)},{number})"

    # -- goals made of goals -----------------------------------------------------------------

    def conjunction(self, scope: ClauseScope, depth: int) -> str:
        return f"( {', '.join(self.goals(scope, depth - 1, 2))} )"

    def way(self, scope: ClauseScope, depth: int, last: str, *, guarded: bool = False) -> str:
        """One branch: goals on a scope of its own, then what binds the common variable."""
        own = scope.branch()
        count = self.rng.choice((0, 0, 1, 2) if not guarded else (1, 1, 2))
        body = self.body(own, depth - 1, count, self.rng.choice((0, 1, 1)))
        self.leave(scope, own)
        return f"{body}, {last}" if body != "true" or self.chance(0.3) else last

    def leave(self, scope: ClauseScope, own: ClauseScope) -> None:
        """What only a branch has bound may or may not have a value after it."""
        inner = [name for name in own.bound if name not in scope.bound]
        if inner and self.chance(0.2):
            scope.open.append(self.rng.choice(inner))

    def common(self, scope: ClauseScope) -> tuple[str, Callable[[], str]]:
        """A variable that every branch binds, each in its way."""
        shape = self.rng.choice((NUMBER, ATOM, NUMBERS_LIST))
        outer = scope.branch()
        name = self.bind(scope, shape)

        def binding() -> str:
            if shape is NUMBER and self.chance(0.3):
                return f"{name} is {self.arithmetic(outer)}"
            if self.chance(0.2):
                items = [self.expression(outer, shape) for _ in range(2)]
                return f"member({name},{_listing(items)})"
            return f"{name} = {self.expression(outer, shape)}"

        return name, binding

    def disjunction(self, scope: ClauseScope, depth: int) -> str:
        outer = scope.branch()
        _, binding = self.common(scope)
        ways = [
            self.way(outer, depth, binding(), guarded=self.chance(0.5))
            for _ in range(self.rng.choice((2, 2, 3)))
        ]
        scope.open += [name for name in outer.open if name not in scope.open]
        if self.chance(0.1):
            ways.insert(0, "fail")
        return f"( {self.pick(' ; ', ' | ').join(ways)} )"

    def conditional(self, scope: ClauseScope, depth: int) -> str:
        outer = scope.branch()
        _, binding = self.common(scope)
        text = ""
        for _ in range(self.rng.choice((1, 1, 2))):
            own = outer.branch()
            test = ", ".join(self.goals(own, depth - 1, self.rng.choice((1, 1, 2))))
            if own.acts and self.chance(0.1):
                test += f", {self.operation(own)}"
            test = ", ".join([test, *own.owed])
            own.owed = []
            text += f"{test} -> {self.way(own, depth, binding())} ; "
            self.leave(scope, own)
        return f"( {text}{self.way(outer, depth, binding())} )"

    def condition(self, scope: ClauseScope, depth: int) -> str:
        """A condition without an else part."""
        test = ", ".join(self.goals(scope, depth - 1, 1))
        own = scope.branch()
        return f"( {test} -> {self.way(own, depth, 'true')} )"

    def negation(self, scope: ClauseScope, depth: int) -> str:
        own = scope.branch(acts=False)
        inner = ", ".join([*self.goals(own, depth - 1, self.rng.choice((1, 1, 2))), *own.owed])
        self.leave(scope, own)
        if self.chance(0.5):
            inner += self.pick(", fail", ", 1 > 2", "")
        return self.pick(f"not(({inner}))", f"\\+ ({inner})", f"not((not(({inner}))))")

    def findall(self, scope: ClauseScope, depth: int) -> str:
        own = scope.branch(acts=False)
        inner = ", ".join([*self.goals(own, depth - 1, self.rng.choice((1, 1, 2))), *own.owed])
        fresh = [name for name in own.bound if name not in scope.bound]
        name = self.rng.choice(fresh) if fresh else "x"
        template = self.pick(
            name, name, f"r({name},{self.expression(own, ANY, 1)})", f"[{name}|_]", f"q({name},W,W)"
        )
        shape = TermSort("list", parts=(own.bound.get(name, ANY) if template == name else ANY,))
        if self.chance(0.12):
            result = self.pick("[]", "[{}|_]", "[_,{}|_]", "[{}]")
            if result != "[]":
                result = result.format(self.bind(scope, ANY))
        else:
            result = self.bind(scope, shape if template == name else ANY)
        return f"findall({template},({inner}),{result})"

    # -- operations --------------------------------------------------------------------------

    def operation(self, scope: ClauseScope) -> str:
        """A `do`, perhaps with what its variable needs before or after it."""
        roll = self.rng.random()
        if roll > 0.92:
            return self.about_sensed(scope)
        if roll > 0.905:
            return self.perhaps(scope)
        text = _weighted(self.rng, OPERATION_TEXTS)(self, scope)
        if roll < 0.06:
            name = self.new(scope)
            return f"{name} = ({text}), do({name})"
        if roll < 0.08:
            name = self.new(scope)
            odd = self.pick("job", "[]", "7", "forward", "quit", f"+{self.expression(scope, ANY)}")
            return f"{name} = ({odd}), do({name})"
        return f"do({text})"

    def about_sensed(self, scope: ClauseScope) -> str:
        """Sense a term, then change that very term: `quota(N)@CS, do(dcr(quota(N),1))`."""
        counts = self.chance(0.6)
        fact = self.words.counter if counts else self.rng.choice(self.words.facts)
        if fact.sort != "struct":
            return f"{fact.name}@CS, do(-{fact.name})"
        term = _struct(fact, [self.bind(scope, part) for part in fact.parts])
        test = ""
        if fact is self.words.counter and self.chance(0.3):
            test = f", {term[term.index('(') + 1 : -1]} {self.pick('>', '<', '=<')} 2"
        if counts and self.chance(0.8):
            change = f"{self.pick('incr', 'dcr')}({term},{self.pick('1', '1', '2', '0.5')})"
        elif self.chance(0.5):
            change = f"-{term}"
        else:
            change = f"{term} <- {self.value(scope, fact)}"
        passed = ", do(forward)" if scope.message and self.chance(0.5) else ""
        return f"{term}@CS{test}, do({change}){passed}"

    def perhaps(self, scope: ClauseScope) -> str:
        """Use a variable that only one branch has bound, so that the evaluation may stop."""
        test = self.pick("flag@CS", f"{self.words.counter.name}(2)@CS", "obligation(refill)@CS")
        name = self.new(scope)
        branch = f"( {test} -> {name} = {self.expression(scope, NUMBERS_LIST)} ; true )"
        use = self.pick("do(signal({}))", "do(+kept({}))", "length({},_)", "sum_list({},_)")
        return f"{branch}, {use.format(name)}"

    def value(self, scope: ClauseScope, shape: TermSort) -> str:
        """A value for an operation; it may be one that comes later in the rule."""
        roll = self.rng.random()
        if roll < 0.06 and shape is not ANY:
            name = self.new(scope)
            scope.owed.append(f"{name} = {self.expression(scope, shape)}")
            return name
        if roll < 0.08 and scope.open:
            return self.rng.choice(scope.open)
        return self.expression(scope, shape)

    def message(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.2):
            return "Msg"
        return self.value(scope, self.rng.choice(self.words.messages))

    def address(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.15):
            return "Peer"
        return self.value(scope, self.rng.choice((AGENT, AGENT, AGENTS_LIST)))

    def forward(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.4):
            return "forward"
        return f"forward({self.value(scope, AGENT)},{self.message(scope)},{self.address(scope)})"

    def deliver(self, scope: ClauseScope) -> str:
        if scope.message and self.chance(0.3):
            return "deliver"
        agents = scope.of(AGENT)
        to = self.rng.choice(agents) if agents and self.chance(0.2) else "Self"
        return f"deliver({self.value(scope, AGENT)},{self.message(scope)},{to})"

    def multicast(self, scope: ClauseScope) -> str:
        return f"multicast(Self,{self.message(scope)},{self.value(scope, AGENTS_LIST)})"

    def release(self, scope: ClauseScope) -> str:
        return f"release({self.message(scope)},{self.value(scope, ATOM)})"

    def signal(self, scope: ClauseScope) -> str:
        return f"signal({self.value(scope, ANY)})"

    def add(self, scope: ClauseScope) -> str:
        fact = self.value(scope, self.rng.choice(self.words.facts))
        return f"+{fact}" if fact[:1].isalpha() else f"+({fact})"

    def holes(self, scope: ClauseScope, shape: TermSort) -> str:
        """A pattern whose unknowns may stay unknown."""
        return self.pattern(scope.branch(), shape)

    def remove(self, scope: ClauseScope) -> str:
        fact = self.holes(scope, self.rng.choice(self.words.facts))
        return f"-{fact}" if fact[:1].isalpha() else f"-({fact})"

    def replace(self, scope: ClauseScope) -> str:
        fact = self.rng.choice(self.words.facts)
        return f"{self.holes(scope, fact)} <- {self.value(scope, fact)}"

    def change(self, scope: ClauseScope) -> str:
        counter = f"{self.words.counter.name}({self.pick('_', self.expression(scope, NUMBER))})"
        return f"{self.pick('incr', 'dcr')}({counter},{self.arithmetic(scope)})"

    def impose(self, scope: ClauseScope) -> str:
        what = self.value(scope, self.rng.choice(self.words.obligations))
        if self.chance(0.4):
            return f"imposeObligation({what},{self.arithmetic(scope)})"
        unit = self.rng.choice(list(UNITS))
        if self.chance(0.05):
            unit = self.rng.choice(scope.of(ATOM) or ["sec"])
        return f"imposeObligation({what},{self.arithmetic(scope)},{unit})"

    def oblige(self, scope: ClauseScope) -> str:
        what = self.value(scope, self.rng.choice(self.words.obligations))
        return f"+obligation({what},{self.arithmetic(scope)})"

    def repeal(self, scope: ClauseScope) -> str:
        if self.chance(0.15):
            return "repealObligation(_)"
        return f"repealObligation({self.holes(scope, self.rng.choice(self.words.obligations))})"

    def quit(self, scope: ClauseScope) -> str:
        return "quit"


def _struct(shape: TermSort, parts: list[str]) -> str:
    if shape.sort == "row":
        return _listing(parts)
    return f"{quote(shape.name)}({','.join(parts)})"


def _listing(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def _weighted(rng: Random, table: dict[Callable[..., str], int]) -> Callable[..., str]:
    return rng.choices(list(table), weights=list(table.values()))[0]


SIMPLE: Final[dict[Callable[..., str], int]] = {
    GoalWriter.sense: 22,
    GoalWriter.obligation: 5,
    GoalWriter.clock: 4,
    GoalWriter.this_law: 1,
    GoalWriter.unify: 14,
    GoalWriter.differ: 5,
    GoalWriter.same: 5,
    GoalWriter.compare: 9,
    GoalWriter.is_: 12,
    GoalWriter.trivial: 2,
    GoalWriter.builtin: 18,
    GoalWriter.call: 14,
}
COMPOSITE: Final[dict[Callable[..., str], int]] = {
    GoalWriter.conjunction: 1,
    GoalWriter.disjunction: 5,
    GoalWriter.conditional: 5,
    GoalWriter.condition: 1,
    GoalWriter.negation: 4,
    GoalWriter.findall: 4,
}
BUILTIN_CALLS: Final[tuple[Producer, ...]] = (
    GoalWriter.lists,
    GoalWriter.lists,
    GoalWriter.lists,
    GoalWriter.lists,
    GoalWriter.append,
    GoalWriter.sum_list,
    GoalWriter.between,
    GoalWriter.atom_concat,
    GoalWriter.texts,
    GoalWriter.texts,
    GoalWriter.sub_atom,
    GoalWriter.atom_number,
)
OPERATION_TEXTS: Final[dict[Callable[..., str], int]] = {
    GoalWriter.forward: 6,
    GoalWriter.deliver: 5,
    GoalWriter.multicast: 2,
    GoalWriter.release: 2,
    GoalWriter.signal: 3,
    GoalWriter.add: 4,
    GoalWriter.remove: 3,
    GoalWriter.replace: 4,
    GoalWriter.change: 4,
    GoalWriter.impose: 4,
    GoalWriter.oblige: 2,
    GoalWriter.repeal: 3,
    GoalWriter.quit: 1,
}
