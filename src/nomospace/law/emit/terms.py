"""Code that makes terms, takes them apart and compares them.

Matching is one-way: the value is ground, the pattern is known at compile time. A first occurrence
of a variable costs nothing (it becomes another name for a part of the value), a later one is a
comparison.
"""

from __future__ import annotations

from typing import Final

from nomospace.law.budget import COPIED_A_UNIT, TEXT_FREE, compare_price
from nomospace.law.emit.symbols import Hole, Ref, Scope, Shape, Symbol, Uncompilable
from nomospace.law.emit.writer import Constants, Writer
from nomospace.law.holes import OPEN_PARTS_FREE, PAIRS_FREE
from nomospace.law.prices import node_weight
from nomospace.terms import Compound, same
from nomospace.terms.tokens import Const, ListSyntax, Node, Struct, Variable

NODE_DEPTH_MAX: Final = 40
"""Deeper terms in a law's text are left to the interpreter."""

SETTLED_MAX: Final = 2_000
"""Parts of a value, written out, that the compiler follows; one of more is interpreted."""


class TermCode:
    """The part of a compiler that deals with terms."""

    def __init__(self, writer: Writer, constants: Constants) -> None:
        self.w = writer
        self.constants = constants
        self.guarded = False  # inside a `try` that takes a missing attribute for a mismatch
        self.free = False  # in the head of a rule, where comparing costs nothing
        self.given: dict[str, str] = {}
        """Names of the event's arguments and of parts of them, with what each is a part of."""
        self.heads: dict[str, Shape] = {}
        """Those that the head of the rule takes apart."""
        self.made_of: dict[str, Symbol] = {}
        """What terms that the code makes are put together from."""
        self.numbers: set[str] = set()
        """Names of numbers that are not large."""

    # -- from the law's text to symbols ----------------------------------------------------

    def symbol(self, node: Node, scope: Scope, depth: int = 0) -> Symbol:
        """What a node stands for here. A structure without holes may still be a `Shape`."""
        if isinstance(node, Const):
            return self.constants.ref(node.value)
        if isinstance(node, Variable):
            return self.settled(scope.lookup(node.name), scope)
        if depth > NODE_DEPTH_MAX:
            raise Uncompilable("the term is deep")
        if isinstance(node, Struct):
            args = tuple([self.symbol(arg, scope, depth + 1) for arg in node.args])
            return self._folded(Shape(node.name, args))
        items = tuple([self.symbol(item, scope, depth + 1) for item in node.items])
        tail = None if node.tail is None else self.symbol(node.tail, scope, depth + 1)
        return self._folded(self._list(items, tail))

    def written(self, node: Node, scope: Scope, *, wholes: bool = True) -> Symbol:
        """What a node of a goal stands for, with the price of making it.

        What is ground in it now is made now (with `wholes`): it will be compared as a whole, and
        what is open part by part. The price of a comparison depends on that.
        """
        if not isinstance(node, Const | Variable):
            self.list_cost(node, scope)
        symbol = self.symbol(node, scope)
        if not isinstance(symbol, Shape):
            return symbol
        if self._open_parts(symbol, scope) - node_weight(node) > OPEN_PARTS_FREE:
            raise Uncompilable("a partial value is large")  # the interpreter knows what it costs
        return self.whole(self.few_parts(symbol, scope), scope) if wholes else symbol

    def head(self, node: Node, scope: Scope) -> Symbol:
        """What an argument of a helper's clause stands for; the call has paid for its size."""
        self.list_cost(node, scope)
        return self.whole(self.few_parts(self.symbol(node, scope), scope), scope)

    def few_parts(self, symbol: Symbol, scope: Scope) -> Symbol:
        """A symbol that can be made equal to another for nothing, as far as its parts go."""
        if self._open_parts(symbol, scope) > PAIRS_FREE // 2:
            raise Uncompilable("a partial value is large")
        return symbol

    def whole(self, symbol: Symbol, scope: Scope) -> Symbol:
        """A symbol with the largest ground parts of it made."""
        symbol = self.settled(symbol, scope)
        if not isinstance(symbol, Shape):
            return symbol
        if not scope.holes_in(symbol):
            return self.value(symbol, scope)
        args = tuple([self.whole(arg, scope) for arg in symbol.args])
        tail = None if symbol.tail is None else self.whole(symbol.tail, scope)
        return Shape(symbol.name, args, tail, symbol.late)

    @staticmethod
    def _open_parts(symbol: Symbol, scope: Scope) -> int:
        count = 0
        pending = [symbol]
        while pending:
            item = scope.settle(pending.pop())
            if isinstance(item, Shape) and scope.holes_in(item):
                parts = item.args if item.tail is None else (*item.args, item.tail)
                count += len(parts)
                pending.extend(parts)
        return count

    def settled(self, symbol: Symbol, scope: Scope, room: list[int] | None = None) -> Symbol:
        """A symbol with its bound holes replaced all the way down.

        Written out, it may have far more parts than the text that made it.
        """
        symbol = scope.settle(symbol)
        if not isinstance(symbol, Shape):
            return symbol
        room = room or [SETTLED_MAX]
        room[0] -= len(symbol.args)
        if room[0] < 0:
            raise Uncompilable("a value has very many parts")
        args = tuple([self.settled(arg, scope, room) for arg in symbol.args])
        if symbol.name is not None:
            return self._folded(Shape(symbol.name, args))
        tail = None if symbol.tail is None else self.settled(symbol.tail, scope, room)
        return self._folded(self._list(args, tail, late=symbol.late))

    @staticmethod
    def _list(items: tuple[Symbol, ...], tail: Symbol | None, *, late: bool = False) -> Shape:
        if isinstance(tail, Shape):
            if tail.name is not None:
                raise Uncompilable("a list with a tail that is no list")
            return Shape(None, items + tail.args, tail.tail, late or tail.late)
        return Shape(None, items, tail, late or isinstance(tail, Hole))

    def _folded(self, shape: Shape) -> Symbol:
        """A shape of constants is a constant."""
        if shape.tail is not None:
            return shape
        values = []
        for arg in shape.args:
            if not (isinstance(arg, Ref) and arg.constant):
                return shape
            values.append(self.constants.namespace[arg.expr])
        if shape.name is None:
            return self.constants.ref(tuple(values))
        return self.constants.ref(Compound(shape.name, tuple(values)))

    # -- making ----------------------------------------------------------------------------

    def expr(
        self,
        symbol: Symbol,
        scope: Scope,
        holes: dict[Hole, str] | None = None,
        *,
        as_open: bool = False,
    ) -> str:
        """A Python expression that makes the value of a symbol.

        Holes are an error of the caller's, unless `holes` collects names for them. With `as_open`,
        what has holes becomes an `Open`, as the interpreter has it.
        """
        symbol = scope.settle(symbol)
        if isinstance(symbol, Ref):
            return symbol.expr
        if isinstance(symbol, Hole):
            if holes is None:
                raise Uncompilable("a hole where a value is needed")
            name = holes.get(symbol)
            if name is None:
                name = holes[symbol] = self.w.fresh("h")
            return name
        made = tuple([self.expr(arg, scope, holes, as_open=as_open) for arg in symbol.args])
        parts = "".join([f"{part}, " for part in made])
        if as_open and scope.holes_in(symbol):
            if symbol.tail is not None:
                tail_expr = self.expr(symbol.tail, scope, holes, as_open=True)
                return f"Open(PARTIAL, ({parts}{tail_expr}))"
            name = "LIST" if symbol.name is None else self.constants.add(symbol.name)
            return f"Open({name}, ({parts}))"
        if symbol.name is not None:
            at_hand = scope.made.get((symbol.name, made))
            return at_hand or f"C({self.constants.add(symbol.name)}, ({parts}))"
        if symbol.tail is None:
            return f"({parts})"
        tail = scope.settle(symbol.tail)
        if isinstance(tail, Hole):
            raise Uncompilable("an open list is made")
        function = "join_late" if symbol.late else "join"
        return f"{function}(({parts}), {self.expr(tail, scope, holes)})"

    def value(self, symbol: Symbol, scope: Scope) -> Ref:
        """A ground symbol as a name; code is written when it has to be made."""
        symbol = self.settled(symbol, scope)
        if isinstance(symbol, Ref):
            return symbol
        if scope.holes_in(symbol):
            raise Uncompilable("a partial value where a whole one is needed")
        name = self.w.fresh()
        self.w.line(f"{name} = {self.expr(symbol, scope)}")
        self.made_of[name] = symbol
        kind = tuple if isinstance(symbol, Shape) and symbol.name is None else Compound
        return Ref(name, False, kind)

    def pattern_expr(self, symbol: Symbol, scope: Scope, *, as_open: bool = False) -> str:
        """An expression for a term that may hold variables; each hole becomes a `Var`."""
        holes: dict[Hole, str] = {}
        made = self.expr(symbol, scope, holes, as_open=as_open)
        for name in holes.values():
            self.w.line(f"{name} = Var()")
        return made

    def list_cost(self, node: Node, scope: Scope) -> None:
        """Charge for the lists with a known tail that a node writes: the interpreter does so."""
        tails = []
        pending: list[Node] = [node]
        while pending:
            item = pending.pop()
            if isinstance(item, Struct):
                pending.extend(item.args)
            elif isinstance(item, ListSyntax):
                pending.extend(item.items)
                if isinstance(item.tail, Variable):
                    tail = scope.settle(scope.names.get(item.tail.name, Hole()))
                    if isinstance(tail, Ref):
                        tails.append(tail.expr)
                    elif isinstance(tail, Shape) and not scope.holes_in(tail):
                        raise Uncompilable("a list made of parts is a tail")
                elif item.tail is not None:
                    pending.append(item.tail)
        if tails:
            self.w.line(f"cost(u, {', '.join(tails)})")

    # -- comparing -------------------------------------------------------------------------

    def differs(self, a: Ref, b: Ref, short: str | None = None) -> str | None:
        """A condition that holds when two values differ; `None` when they are known equal.

        `short` has the answer whether `a` is a short text.
        """
        if b.constant and not a.constant:
            a, b = b, a
        x, y = a.expr, b.expr
        if a.constant:
            value = self.constants.namespace[x]
            if b.constant:
                other = self.constants.namespace[y]
                if self.free or not compare_price(value, other):
                    return None if same(value, other) else "True"
            elif value is None or value is True or value is False:
                return f"{y} is not {value}"
            elif type(value) is str and not self.is_long(a):
                return f"{y} != {x}"
            elif value.__class__ in (int, float):
                name = value.__class__.__name__
                return f"({y} != {x} or {y}.__class__ is not {name})"
        elif a.kind is str or b.kind is str:
            # A string equals nothing but that string, and names are short.
            return None if x == y else f"{x} != {y}"
        return self._differs_by_price(x, y, short=short)

    def _differs_by_price(
        self, x: str, y: str, whole: tuple[str, str] | None = None, short: str | None = None
    ) -> str:
        """`differs`, of values of which nothing is known, at the price of comparing them.

        `whole` are two compounds of which they are the only parts: what is to be paid for. `short`
        has the answer whether `x` is a short text.
        """
        a, b = whole or (x, y)
        dear = f"not same({a}, {b})" if self.free else f"not same_for(u, {a}, {b})"
        if short is not None:
            number = f"{x}.__class__ is int and {y}.__class__ is int"
            return f"({x} != {y} if {short} or {number} else {dear})"
        cheap = f"{x}.__class__ is str and len({x}) <= {TEXT_FREE} or {x}.__class__ is int"
        return f"({x}.__class__ is not {y}.__class__ or ({x} != {y} if {cheap} else {dear}))"

    def is_long(self, constant: Ref) -> bool:
        """Whether a constant is a text that costs something to compare."""
        value = self.constants.namespace[constant.expr]
        return value.__class__ in (str, bytes) and len(value) > TEXT_FREE

    def ask_short(self, made: Symbol, shape: Symbol, scope: Scope) -> None:
        """Write code that asks once whether a value, or its one part, is a text that is short.

        Such a text equals another for nothing, and is told apart from all else by Python.
        """
        part = made
        if isinstance(shape, Shape) and shape.name is not None and len(shape.args) == 1:
            part = shape.args[0]
        if not isinstance(part, Ref) or part.constant or part.kind is not None:
            return
        if part.expr in dict(scope.short):
            return
        answer, x = self.w.fresh("s"), part.expr
        self.w.line(f"{answer} = {x}.__class__ is str and len({x}) <= {TEXT_FREE}", worth=0)
        scope.short = (*scope.short, (x, answer))

    def match_whole(self, made: Symbol, value: Ref, shape: Symbol, scope: Scope, fail: str) -> None:
        """`match` of a ground value that was made as `shape` tells.

        One like `kind(K)` is told apart by its part, without a call.
        """
        assert isinstance(made, Ref)
        part = shape.args[0] if isinstance(shape, Shape) and len(shape.args) == 1 else None
        if not isinstance(part, Ref) or not isinstance(shape, Shape) or shape.name is None:
            self.match(made, value, scope, fail)
            return
        x, inner = value.expr, self.w.fresh()
        known = Ref(inner) if part.constant and part.kind in (int, str) else None
        short = dict(scope.short).get(part.expr)
        name = self.constants.add(shape.name)
        if known is not None and not self.is_long(part):
            condition = self.differs(part, known)
        else:
            condition = self._differs_by_price(part.expr, inner, (made.expr, x), short)
        self.w.line(f"if {x}.__class__ is not C or {x}.name != {name}: {fail}")
        self.w.line(f"{inner} = {x}.args")
        self.w.line(f"if len({inner}) != 1: {fail}")
        self.w.line(f"{inner} = {inner}[0]")
        self._fail_if(str(condition), fail)

    def match(self, symbol: Symbol, value: Ref, scope: Scope, fail: str) -> None:
        """Write code that matches a pattern against a ground value, binding its holes."""
        symbol = scope.settle(symbol)
        if isinstance(symbol, Hole):
            scope.holes[symbol] = value
            return
        if isinstance(symbol, Ref):
            condition = self.differs(symbol, value, dict(scope.short).get(symbol.expr))
            if condition is not None:
                self._fail_if(condition, fail)
            return
        if symbol.name is not None:
            self._match_compound(symbol, value, scope, fail)
        else:
            self._match_list(symbol, value, scope, fail)

    def _fail_if(self, condition: str, fail: str) -> None:
        if condition == "True":
            self.w.line(fail)
        else:
            self.w.line(f"if {condition}: {fail}")

    def _match_compound(self, shape: Shape, value: Ref, scope: Scope, fail: str) -> None:
        assert shape.name is not None
        x = value.expr
        is_compound = f"{x}.__class__ is not C or "
        if self.guarded or value.kind is Compound:
            is_compound = ""
        self._fail_if(f"{is_compound}{x}.name != {self.constants.add(shape.name)}", fail)
        self.match_arguments(shape, x, scope, fail)

    def match_arguments(self, shape: Shape, x: str, scope: Scope, fail: str) -> None:
        """Match the arguments of a compound that is known to have the right name."""
        source = f"{x}.args"
        if self.free and x in self.given:
            self.heads[x] = shape
        if not self.guarded:
            args = self.w.fresh()
            self.w.line(f"{args} = {source}")
            self._fail_if(f"len({args}) != {len(shape.args)}", fail)
            source = args
        parts = self.match_args(shape.args, source, scope, fail, x)
        assert shape.name is not None
        scope.made[shape.name, parts] = x  # need not be made again

    def match_args(
        self, args: tuple[Symbol, ...], source: str, scope: Scope, fail: str, whole: str
    ) -> tuple[str, ...]:
        """Match the parts of a sequence of known length, one by one; expressions for them."""
        parts = [self.w.fresh() for _ in args]
        if self.free and whole in self.heads:
            self.given.update(dict.fromkeys(parts, whole))
        self.w.line(f"{', '.join(parts)}{',' if len(parts) == 1 else ''} = {source}")
        for arg, part in zip(args, parts, strict=True):
            self.match(arg, Ref(part), scope, fail)
        known = []
        for arg, part in zip(args, parts, strict=True):
            settled = scope.settle(arg)
            known.append(settled.expr if isinstance(settled, Ref) else part)
        return tuple(known)

    def _match_list(self, shape: Shape, value: Ref, scope: Scope, fail: str) -> None:
        x, count = value.expr, len(shape.args)
        if shape.tail is None:
            length = "" if self.guarded and count else f" or len({x}) != {count}"
            self._fail_if(f"{x}.__class__ is not tuple{length}", fail)
            if self.free and x in self.given:
                self.heads[x] = shape
            if count:
                self.match_args(shape.args, x, scope, fail, x)
            return
        self._fail_if(f"{x}.__class__ is not tuple or len({x}) < {count}", fail)
        self.w.line(
            f"if len({x}) >= {count + COPIED_A_UNIT}: "
            f"spend(u, (len({x}) - {count}) // {COPIED_A_UNIT})"
        )
        for index, arg in enumerate(shape.args):
            part = self.w.fresh()
            self.w.line(f"{part} = {x}[{index}]")
            self.match(arg, Ref(part), scope, fail)
        tail = self.w.fresh()
        self.w.line(f"{tail} = {x}[{count}:]")
        self.match(shape.tail, Ref(tail, False, tuple), scope, fail)

    def unify(self, a: Symbol, b: Symbol, scope: Scope, fail: str) -> None:
        """Write code that makes two symbols equal."""
        a, b = self.settled(a, scope), self.settled(b, scope)
        if isinstance(b, Hole):
            a, b = b, a
        if isinstance(a, Hole):
            if a is b:
                return
            if isinstance(b, Shape):
                holes = scope.holes_in(b)
                if a in holes:
                    self.w.line(fail)  # nothing is a part of itself
                    raise UnreachableCode
                if not holes:
                    b = self.value(b, scope)
            scope.holes[a] = b
        elif isinstance(a, Ref) and isinstance(b, Ref):
            condition = self.differs(a, b)
            if condition is not None:
                self._fail_if(condition, fail)
                if condition == "True":
                    raise UnreachableCode
        elif isinstance(a, Ref):
            self.match(b, a, scope, fail)
        elif isinstance(b, Ref):
            self.match(a, b, scope, fail)
        else:
            assert isinstance(b, Shape)
            self._unify_shapes(a, b, scope, fail)

    def _unify_shapes(self, a: Shape, b: Shape, scope: Scope, fail: str) -> None:
        if a.tail is not None or b.tail is not None:
            raise Uncompilable("two open lists are made equal")
        if a.name != b.name or len(a.args) != len(b.args):
            self.w.line(fail)
            raise UnreachableCode
        for left, right in zip(a.args, b.args, strict=True):
            self.unify(left, right, scope, fail)


class UnreachableCode(Exception):
    """Code after this point is never reached: what was just written fails for certain."""
