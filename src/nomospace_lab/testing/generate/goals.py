"""Writes goals and operations of generated laws, as text.

A writer keeps a `ClauseScope`: which variables of the clause have values, and of what shape. So
nearly all that it writes can hold, and nothing it writes is certainly wrong; but it also writes,
rarely, what stops an evaluation: a text added to a number, a variable that only one branch has
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from nomospace.terms import show
from nomospace_lab.testing.generate.library import Helper
from nomospace_lab.testing.generate.operations import OperationWriter
from nomospace_lab.testing.generate.shapes import (
    ANY,
    ANY_LIST,
    ATOM,
    ATOMS_LIST,
    LARGE,
    NUMBER,
    NUMBERS_LIST,
    TermSort,
    random_shape,
)
from nomospace_lab.testing.generate.terms import ClauseScope, Vocabulary, listing, struct, weighted

COMPARISONS: Final = ("<", ">", "=<", ">=", "=:=", "=\\=")
Producer: TypeAlias = "Callable[[GoalWriter, ClauseScope], str]"


class GoalWriter(OperationWriter):
    """Writes goals from a vocabulary and the helpers that may be called."""

    def __init__(self, rng: Random, words: Vocabulary, *, large: bool = False) -> None:
        super().__init__(rng, words)
        self.simple = {**SIMPLE, GoalWriter.large: 2} if large else SIMPLE
        self.helpers: list[Helper] = []

    def goal(self, scope: ClauseScope, depth: int) -> str:
        """One goal, or a few that belong together."""
        if depth and self.chance(0.28):
            return weighted(self.rng, COMPOSITE)(self, scope, depth)
        return weighted(self.rng, self.simple)(self, scope)

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
        return f"{struct(fact, parts)}@CS"

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
                return f"member({name},{listing(items)})"
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
