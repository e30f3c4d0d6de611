"""Code for the operations of a ruling, at the point where its rule has succeeded.

`runtime.finish` says what the final form of an operation is and when there is none. Where the
text already shows that an operation is well formed, the code makes it directly; everything else
goes through `finish` itself.
"""

from __future__ import annotations

from nomospace.law.emit.symbols import Hole, Ref, Scope, Sensed, Shape, Symbol
from nomospace.law.emit.terms import TermCode
from nomospace.law.emit.writer import Writer
from nomospace.law.tree import RESERVED, UNITS
from nomospace.terms import Compound


class OperationCode:
    """Writes operations. `message` holds the names of sender, message and destination."""

    def __init__(self, writer: Writer, terms: TermCode) -> None:
        self.w = writer
        self.terms = terms
        self.message: tuple[str, str, str] | None = None
        self.sender_is_home = False
        self.general = False
        """Whether one of the last operations got its final form only as the code runs."""

    def finish(self, symbol: Symbol, scope: Scope) -> tuple[str, bool]:
        """Write checks for an operation; an expression for it, and whether it is a constant."""
        symbol = self.terms.settled(symbol, scope)
        if isinstance(symbol, Ref) and symbol.constant:
            return self._constant(symbol, scope)
        if isinstance(symbol, Shape) and symbol.name is not None:
            made = self._shape(symbol, scope)
            if made is not None:
                return made, False
        return self._general(symbol, scope), False

    # -- carrying out ----------------------------------------------------------------------

    def change(self, symbols: tuple[Symbol, ...], scope: Scope) -> str | None:
        """Write code that carries the one state change of a ruling out; an expression for it.

        Only for rulings that pass the event's own message on and count a sensed term up or down,
        or take it away: then the place is known, nothing has to be looked for, and nothing can
        grow. `None` for all others, which the controller carries out. The sensed term is the
        oldest of its value: an older one would have been tried before, and gone the same way.
        """
        plan: tuple[Sensed, str | None] | None = None
        for symbol in symbols:
            symbol = self.terms.settled(symbol, scope)
            if isinstance(symbol, Ref) and symbol.constant:
                if self.terms.constants.namespace[symbol.expr] not in ("forward", "deliver"):
                    return None
                continue
            if plan is not None:
                return None
            plan = self._plan(symbol, scope)
            if plan is None:
                return None
        if plan is None:
            return None
        sensed, amount = plan
        bucket, place, item = sensed.bucket, sensed.place, sensed.item
        if amount is None:
            self.w.line(f"st.drop({place}, {item})")
            return f"('-', {place}, {item}, None)"
        new = self._new_count(sensed, amount)
        self.w.line(f"if {bucket}.indexes: {bucket}.swap({place}, {new})")
        self.w.line(f"else: {bucket}[{place}] = {new}")
        return f"('<-', {place}, {item}, {new})"

    def _plan(self, symbol: Symbol, scope: Scope) -> tuple[Sensed, str | None] | None:
        """The sensed term that an operation is about, and the signed amount it changes by."""
        if not isinstance(symbol, Shape):
            return None
        if symbol.name == "-" and len(symbol.args) == 1:
            target, amount = symbol.args[0], None
        elif symbol.name in ("incr", "dcr") and len(symbol.args) == 2:
            target, by = symbol.args
            if not (isinstance(by, Ref) and by.constant and by.kind is int):
                return None
            amount = f"{'+' if symbol.name == 'incr' else '-'} {by.expr}"
            if not (isinstance(target, Shape) and len(target.args) == 1):
                return None
        else:
            return None
        if not isinstance(target, Shape) or target.name is None or target.name in RESERVED:
            return None
        sensed = self._sensed(target, scope)
        return None if sensed is None else (sensed, amount)

    @staticmethod
    def _sensed(target: Symbol, scope: Scope) -> Sensed | None:
        """The sensed term that a pattern is, when the path has one."""
        if isinstance(target, Shape):
            wanted = tuple([arg.expr if isinstance(arg, Ref) else None for arg in target.args])
            for sensed in scope.sensed:
                if sensed.name == target.name and sensed.parts == wanted:
                    return sensed
        return None

    def _new_count(self, sensed: Sensed, amount: str) -> str:
        old = sensed.parts[0]
        new = self.w.fresh()
        sign, by = amount.split()
        falls = (self.terms.constants.namespace[by] < 0) == (sign == "+")
        small = f"{old} > LOW" if falls else f"{old} < HIGH"
        plain = f"{old} {sign} {by} if {old}.__class__ is int and {small}"
        self.w.line(
            f"{new} = C({self.terms.constants.add(sensed.name)}, "
            f"({plain} else arith2('{sign}', {old}, {by}, u),))"
        )
        return new

    def _general(self, symbol: Symbol, scope: Scope) -> str:
        self.general = True
        if isinstance(symbol, Hole):
            self.w.line("raise Stop('notGround')")
            return "None"
        made = self.terms.pattern_expr(symbol, scope, as_open=True)
        name = self.w.fresh()
        message = "None" if self.message is None else f"({', '.join(self.message)})"
        self.w.line(f"{name} = finish({made}, S, {message}, u)")
        return name

    def _constant(self, symbol: Ref, scope: Scope) -> tuple[str, bool]:
        value = self.terms.constants.namespace[symbol.expr]
        if value in ("forward", "deliver") and type(value) is str and self.message is not None:
            return self._bare_message(value), False
        if type(value) is str and value == "quit":
            return symbol.expr, True
        if type(value) is Compound and len(value.args) == 1:
            if value.name == "+" and not _reserved(value.args[0]):
                return symbol.expr, True
            if value.name in ("repealObligation", "signal"):
                return symbol.expr, True
        if (
            type(value) is Compound
            and value.name == "imposeObligation"
            and len(value.args) in (2, 3)
            and value.args[1].__class__ in (int, float)
            and (len(value.args) == 2 or _unit(value.args[2]))
        ):
            return symbol.expr, True
        return self._general(symbol, scope), False

    def _bare_message(self, name: str) -> str:
        """`forward` or `deliver` of the event's own message."""
        assert self.message is not None
        sender, message, to = self.message
        functor = self.terms.constants.add(name)
        made = f"C({functor}, ({sender}, {message}, {to}))"
        if name == "forward":
            condition = f"{to}.__class__ is not str"
            if not self.sender_is_home:
                condition += f" or {sender}.__class__ is not str"
            self.w.line(f"if {condition}: finish({made}, S, None, u)")
        else:
            condition = f"{to} != S or {sender}.__class__ is not str"
            self.w.line(f"if {condition}: finish({made}, S, None, u)")
        return made

    def _shape(self, shape: Shape, scope: Scope) -> str | None:
        """An operation whose form the text shows; `None` for the general way."""
        name, args = shape.name, shape.args
        if name in ("forward", "multicast") and len(args) == 3:
            return self._forward(shape, scope)
        if name == "deliver" and len(args) == 3:
            return self._deliver(shape, scope)
        if name == "+" and len(args) == 1:
            return self._plain(shape, args[0], scope)
        if name == "-" and len(args) == 1 and self._is_plain(args[0]):
            return self.terms.pattern_expr(shape, scope)
        if name == "<-" and len(args) == 2 and self._is_plain(args[0]):
            if self._is_plain(args[1]) and not scope.holes_in(args[1]):
                return self.terms.pattern_expr(shape, scope)
            return None
        if name == "repealObligation" and len(args) == 1:
            return self.terms.pattern_expr(shape, scope)
        if name in ("incr", "dcr") and len(args) == 2:
            return self._change(shape, scope)
        if name == "imposeObligation" and len(args) in (2, 3):
            return self._impose(shape, scope)
        return None

    def _forward(self, shape: Shape, scope: Scope) -> str | None:
        if scope.holes_in(shape):
            return None
        sender, message, to = (self.terms.value(arg, scope) for arg in shape.args)
        functor = self.terms.constants.add(shape.name)
        made = f"C({functor}, ({sender.expr}, {message.expr}, {to.expr}))"
        checks = [
            f"{part.expr}.__class__ is not str"
            for part in (sender, to)
            if not (part.constant and part.kind is str) and part.expr != "S"
        ]
        if checks:
            self.w.line(f"if {' or '.join(checks)}: finish({made}, S, None, u)")
        return made

    def _deliver(self, shape: Shape, scope: Scope) -> str | None:
        if scope.holes_in(shape):
            return None
        sender, message, to = (self.terms.value(arg, scope) for arg in shape.args)
        functor = self.terms.constants.add("deliver")
        made = f"C({functor}, ({sender.expr}, {message.expr}, {to.expr}))"
        if not (to.expr == "S" and sender.expr == "S"):
            condition = f"{to.expr} != S or {sender.expr}.__class__ is not str"
            self.w.line(f"if {condition}: finish({made}, S, None, u)")
        return made

    def _is_plain(self, symbol: Symbol) -> bool:
        """Whether the text shows a term that is not reserved."""
        if isinstance(symbol, Shape):
            return symbol.name is not None and symbol.name not in RESERVED
        if isinstance(symbol, Ref) and symbol.constant:
            return not _reserved(self.terms.constants.namespace[symbol.expr])
        return False

    def _plain(self, shape: Shape, term: Symbol, scope: Scope) -> str | None:
        if not self._is_plain(term) or scope.holes_in(term):
            return None
        return self.terms.expr(shape, scope)

    def _amount(self, symbol: Symbol, scope: Scope) -> str | None:
        if isinstance(symbol, Hole):
            return None
        if isinstance(symbol, Ref) and symbol.constant:
            if symbol.kind in (int, float):
                return symbol.expr
            return None
        if scope.holes_in(symbol):
            return None
        value = self.terms.value(symbol, scope).expr
        name = self.w.fresh()
        self.w.line(f"{name} = {value} if {value}.__class__ is int else calculate({value}, u)")
        return name

    def _change(self, shape: Shape, scope: Scope) -> str | None:
        counter, amount = shape.args
        if isinstance(counter, Ref) and counter.constant:
            value = self.terms.constants.namespace[counter.expr]
            if type(value) is not Compound or len(value.args) != 1 or _reserved(value):
                return None
        elif not (
            isinstance(counter, Shape)
            and counter.name is not None
            and counter.name not in RESERVED
            and len(counter.args) == 1
        ):
            return None
        by = self._amount(amount, scope)
        if by is None:
            return None
        sensed = self._sensed(counter, scope)
        pattern = self.terms.pattern_expr(counter, scope) if sensed is None else sensed.item
        return f"C({self.terms.constants.add(shape.name)}, ({pattern}, {by}))"

    def _impose(self, shape: Shape, scope: Scope) -> str | None:
        what, amount, *unit = shape.args
        if unit:
            known = unit[0]
            if not (isinstance(known, Ref) and known.constant):
                return None
            if not _unit(self.terms.constants.namespace[known.expr]):
                return None
        if scope.holes_in(what):
            return None
        by = self._amount(amount, scope)
        if by is None:
            return None
        parts = [self.terms.expr(what, scope), by, *[self.terms.expr(u, scope) for u in unit]]
        return f"C({self.terms.constants.add('imposeObligation')}, ({', '.join(parts)}))"


def _reserved(value: object) -> bool:
    if isinstance(value, Compound):
        return value.name in RESERVED
    return isinstance(value, str) and value in RESERVED


def _unit(value: object) -> bool:
    return isinstance(value, str) and value in UNITS
