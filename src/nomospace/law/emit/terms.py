"""Code that makes terms, takes them apart and compares them.

Matching is one-way: the value is ground, the pattern is known at compile time. A first occurrence
of a variable costs nothing (it becomes another name for a part of the value), a later one is a
comparison.
"""

from __future__ import annotations

from typing import Final

from nomospace.law.emit.symbols import Hole, Ref, Scope, Shape, Symbol, Uncompilable
from nomospace.law.emit.writer import Constants, Writer
from nomospace.law.tree import Const, Listing, Node, Struct, Variable
from nomospace.terms import Compound, same

NODE_DEPTH_MAX: Final = 40
"""Deeper terms in a law's text are left to the interpreter."""


class TermCode:
    """The part of a compiler that deals with terms."""

    def __init__(self, writer: Writer, constants: Constants) -> None:
        self.w = writer
        self.constants = constants
        self.guarded = False  # inside a `try` that takes a missing attribute for a mismatch

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

    def settled(self, symbol: Symbol, scope: Scope) -> Symbol:
        """A symbol with its bound holes replaced all the way down."""
        symbol = scope.settle(symbol)
        if not isinstance(symbol, Shape):
            return symbol
        args = tuple([self.settled(arg, scope) for arg in symbol.args])
        if symbol.name is not None:
            return self._folded(Shape(symbol.name, args))
        tail = None if symbol.tail is None else self.settled(symbol.tail, scope)
        return self._folded(self._list(args, tail))

    @staticmethod
    def _list(items: tuple[Symbol, ...], tail: Symbol | None) -> Shape:
        if isinstance(tail, Shape):
            if tail.name is not None:
                raise Uncompilable("a list with a tail that is no list")
            return Shape(None, items + tail.args, tail.tail)
        return Shape(None, items, tail)

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

    def expr(self, symbol: Symbol, scope: Scope, holes: dict[Hole, str] | None = None) -> str:
        """A Python expression that makes the value of a symbol.

        Holes are an error of the caller's, unless `holes` collects names for them.
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
        made = tuple([self.expr(arg, scope, holes) for arg in symbol.args])
        parts = "".join([f"{part}, " for part in made])
        if symbol.name is not None:
            at_hand = scope.made.get((symbol.name, made))
            return at_hand or f"C({self.constants.add(symbol.name)}, ({parts}))"
        if symbol.tail is None:
            return f"({parts})"
        tail = scope.settle(symbol.tail)
        if isinstance(tail, Hole):
            raise Uncompilable("an open list is made")
        return f"join(({parts}), {self.expr(tail, scope, holes)})"

    def value(self, symbol: Symbol, scope: Scope) -> Ref:
        """A ground symbol as a name; code is written when it has to be made."""
        symbol = self.settled(symbol, scope)
        if isinstance(symbol, Ref):
            return symbol
        if scope.holes_in(symbol):
            raise Uncompilable("a partial value where a whole one is needed")
        name = self.w.fresh()
        self.w.line(f"{name} = {self.expr(symbol, scope)}")
        kind = tuple if isinstance(symbol, Shape) and symbol.name is None else Compound
        return Ref(name, False, kind)

    def pattern_expr(self, symbol: Symbol, scope: Scope) -> str:
        """An expression for a term that may hold variables; each hole becomes a `Var`."""
        holes: dict[Hole, str] = {}
        made = self.expr(symbol, scope, holes)
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
            elif isinstance(item, Listing):
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

    def differs(self, a: Ref, b: Ref, *, charged: bool = True) -> str | None:
        """A condition that holds when two values differ; `None` when they are known equal."""
        if a.expr == b.expr:
            return None
        if b.constant and not a.constant:
            a, b = b, a
        if a.constant:
            value = self.constants.namespace[a.expr]
            if b.constant:
                return None if same(value, self.constants.namespace[b.expr]) else "True"
            if value is None or value is True or value is False:
                return f"{b.expr} is not {value}"
            if value.__class__ in (str, bytes):
                return f"{b.expr} != {a.expr}"
            if value.__class__ in (int, float):
                name = value.__class__.__name__
                return f"({b.expr} != {a.expr} or {b.expr}.__class__ is not {name})"
        x, y = a.expr, b.expr
        if a.kind is str or b.kind is str:
            return f"{x} != {y}"  # a string equals nothing but that string
        deep = f"unlike(u, {x}, {y})" if charged else f"not same({x}, {y})"
        return (
            f"({x} is not {y} and ({x}.__class__ is not {y}.__class__ or "
            f"({deep} if {x}.__class__ is tuple or {x}.__class__ is C else {x} != {y})))"
        )

    def match(
        self, symbol: Symbol, value: Ref, scope: Scope, fail: str, *, charged: bool = True
    ) -> None:
        """Write code that matches a pattern against a ground value, binding its holes."""
        symbol = scope.settle(symbol)
        if isinstance(symbol, Hole):
            scope.holes[symbol] = value
            return
        if isinstance(symbol, Ref):
            condition = self.differs(symbol, value, charged=charged)
            if condition is not None:
                self._fail_if(condition, fail)
            return
        if symbol.name is not None:
            self._match_compound(symbol, value, scope, fail, charged)
        elif symbol.tail is not None and not scope.holes_in(symbol):
            self.match(self.value(symbol, scope), value, scope, fail)
        else:
            self._match_list(symbol, value, scope, fail, charged)

    def _fail_if(self, condition: str, fail: str) -> None:
        if condition == "True":
            self.w.line(fail)
        else:
            self.w.line(f"if {condition}: {fail}")

    def _match_compound(
        self, shape: Shape, value: Ref, scope: Scope, fail: str, charged: bool
    ) -> None:
        assert shape.name is not None
        x = value.expr
        is_compound = f"{x}.__class__ is not C or "
        if self.guarded or value.kind is Compound:
            is_compound = ""
        self._fail_if(f"{is_compound}{x}.name != {self.constants.add(shape.name)}", fail)
        self.match_arguments(shape, x, scope, fail, charged)

    def match_arguments(
        self, shape: Shape, x: str, scope: Scope, fail: str, charged: bool = True
    ) -> None:
        """Match the arguments of a compound that is known to have the right name."""
        source = f"{x}.args"
        if not self.guarded:
            args = self.w.fresh()
            self.w.line(f"{args} = {source}")
            self._fail_if(f"len({args}) != {len(shape.args)}", fail)
            source = args
        parts = self.match_args(shape.args, source, scope, fail, charged)
        assert shape.name is not None
        scope.made[shape.name, parts] = x  # need not be made again

    def match_args(
        self, args: tuple[Symbol, ...], source: str, scope: Scope, fail: str, charged: bool = True
    ) -> tuple[str, ...]:
        """Match the parts of a sequence of known length, one by one; expressions for them."""
        parts = [self.w.fresh() for _ in args]
        self.w.line(f"{', '.join(parts)}{',' if len(parts) == 1 else ''} = {source}")
        for arg, part in zip(args, parts, strict=True):
            self.match(arg, Ref(part), scope, fail, charged=charged)
        known = []
        for arg, part in zip(args, parts, strict=True):
            settled = scope.settle(arg)
            known.append(settled.expr if isinstance(settled, Ref) else part)
        return tuple(known)

    def _match_list(self, shape: Shape, value: Ref, scope: Scope, fail: str, charged: bool) -> None:
        x, count = value.expr, len(shape.args)
        if shape.tail is None:
            length = "" if self.guarded and count else f" or len({x}) != {count}"
            self._fail_if(f"{x}.__class__ is not tuple{length}", fail)
            if count:
                self.match_args(shape.args, x, scope, fail, charged)
            return
        self._fail_if(f"{x}.__class__ is not tuple or len({x}) < {count}", fail)
        if charged:
            self.w.line(f"if len({x}) > {count + 299}: spend(u, (len({x}) - {count}) // 300)")
        for index, arg in enumerate(shape.args):
            part = self.w.fresh()
            self.w.line(f"{part} = {x}[{index}]")
            self.match(arg, Ref(part), scope, fail, charged=charged)
        tail = self.w.fresh()
        self.w.line(f"{tail} = {x}[{count}:]")
        self.match(shape.tail, Ref(tail, False, tuple), scope, fail, charged=charged)

    def unify(self, a: Symbol, b: Symbol, scope: Scope, fail: str) -> None:
        """Write code that makes two symbols equal."""
        a, b = self.settled(a, scope), self.settled(b, scope)
        if a is b:
            return
        if isinstance(b, Hole):
            a, b = b, a
        if isinstance(a, Hole):
            if isinstance(b, Shape):
                holes = scope.holes_in(b)
                if a in holes:
                    self.w.line(fail)  # nothing is a part of itself
                    raise Dead
                if not holes:
                    b = self.value(b, scope)
            scope.holes[a] = b
        elif isinstance(a, Ref) and isinstance(b, Ref):
            condition = self.differs(a, b)
            if condition is not None:
                self._fail_if(condition, fail)
                if condition == "True":
                    raise Dead
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
            raise Dead
        for left, right in zip(a.args, b.args, strict=True):
            self.unify(left, right, scope, fail)


class Dead(Exception):
    """Code after this point is never reached: what was just written fails for certain."""
