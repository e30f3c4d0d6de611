"""How large the operations of a rule may be, told by its text and the size of its event.

Most rulings are put together from parts of the event and from what the text says. Then the
controller need not measure them: `fixed + times * n` bounds their bytes, where the event's
arguments have `n`. What comes from elsewhere (the state, a helper, a sum) has no such bound.

A part of the event is a name that the head of the rule gave it. A byte of the event counts as often
as the names that it is part of are used. The bytes of a compound that the head takes apart are
known, so those that are used less often than the parts in it are taken off.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from nomospace.law.emit.symbols import Hole, Ref, Scope, Shape, Symbol
from nomospace.law.emit.terms import TermCode
from nomospace.terms import Compound
from nomospace.terms.values import weight

SizeBound: TypeAlias = tuple[int, int]
"""`fixed` and `times`."""
NUMBER_BYTES: Final = 9
PARTS_MAX: Final = 100
"""A ruling that is put together from more parts, written out, is measured."""
PUT_TOGETHER: Final = ("forward", "multicast", "deliver", "+", "-", "<-", "repealObligation")
"""Operations that are no more than their parts."""


def bound_of(
    symbols: tuple[Symbol, ...], message: tuple[str, str, str] | None, scope: Scope, terms: TermCode
) -> SizeBound | None:
    """The bound of a ruling with these operations, or `None` where the text tells none.

    `message` has the names of the event's message, for a bare `forward` or `deliver`.
    """
    uses = _Uses(terms, scope)
    for symbol in symbols:
        symbol = terms.settled(symbol, scope)
        if isinstance(symbol, Ref) and symbol.constant:
            value = terms.constants.namespace[symbol.expr]
            if message is not None and type(value) is str and value in ("forward", "deliver"):
                if len(symbols) == 1:
                    return 0, 0  # the event's own message is not measured again
                symbol = Shape(value, tuple([Ref(name) for name in message]))
        elif not isinstance(symbol, Shape):
            return None
        elif symbol.name == "imposeObligation":
            if not all(isinstance(arg, Ref) and arg.constant for arg in symbol.args[1:]):
                return None
        elif symbol.name not in PUT_TOGETHER:
            return None
        if not uses.add(symbol):
            return None
    return uses.bound(_head(Shape(None, symbols)))


def either(bounds: list[SizeBound | None]) -> SizeBound | None:
    """The bound of a ruling of which one of several ways is taken."""
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds):
        return None
    return max([fixed for fixed, _ in known]), max([times for _, times in known])


def _head(shape: Shape) -> int:
    """The bytes of a compound, or of a list, besides those of its parts."""
    none = (None,) * len(shape.args)
    return weight(none if shape.name is None else Compound(shape.name, none)) - len(none)


class _Uses:
    """Counts how often each part of the event stands in some operations."""

    def __init__(self, terms: TermCode, scope: Scope) -> None:
        self._terms = terms
        self._scope = scope
        self._fixed = 0
        self._left = PARTS_MAX
        self._times: Counter[str] = Counter()

    def add(self, symbol: Symbol) -> bool:
        """Count what a symbol is put together from; false where that is not known."""
        terms = self._terms
        todo = [symbol]
        while todo:
            self._left -= 1
            if self._left < 0:  # what shares its parts, written out, may be without end
                return False
            item = self._scope.settle(todo.pop())
            if isinstance(item, Hole):
                self._fixed += 1
            elif isinstance(item, Shape):
                if item.tail is not None:
                    return False
                self._fixed += _head(item)
                todo.extend(item.args)
            elif item.constant:
                self._fixed += weight(terms.constants.namespace[item.expr])
            elif item.expr in terms.made_of:
                todo.append(terms.made_of[item.expr])
            elif item.expr in terms.numbers:
                self._fixed += NUMBER_BYTES
            elif item.expr in terms.given:
                self._times[item.expr] += 1
            else:
                return False
        return True

    def bound(self, fixed: int) -> SizeBound:
        """What all that was counted comes to, and so many bytes besides."""
        terms, counted = self._terms, self._times
        total: dict[str, int] = {}
        for name, whole in terms.given.items():  # a whole comes before its parts
            total[name] = counted[name] + total.get(whole, 0)
        times = max(total.values(), default=0)
        for name, shape in terms.heads.items():
            fixed += (total[name] - times) * _head(shape)
        return fixed + self._fixed, times
