"""The built-in predicates of the law language: what each needs, gives and costs.

Modes: `+` must be bound when called, `-` is bound by the call, `?` either. A call with less
bound than any of its modes asks for ends the evaluation with `notGround`. Of a list that `member`,
`append`, `delete`, `length`, `nth0` or `reverse` need, the items may be unbound.

Cost is in units of the evaluation budget (`UNITS_MAX` an event); a unit is about the same work
everywhere. What a law's text costs stands in `law.prices`, comparing in `law.budget`, calculating
in `law.arithmetic`. A candidate of `@CS`, which costs one unit, is a term that agrees with the
pattern in every argument that is bound. Making a list `[H|T]`, or taking one apart that way, costs
one unit for each 100 items of `T`. Calls that nest deeper than `NESTED_MAX` use the budget up. A
value with unbound variables in it has at most 200 parts besides those that the text writes, and
costs one unit for each 16 of them whenever a goal names it.

- `member(?X, +List)`: each item of a list; one unit an item tried. Fails on what is no list.
- `append(+A, +B, ?C)`: C is A and then B; one unit for each 16 items of both.
  `append(?A, ?B, +C)`: all ways to cut C in two; one unit each, and for each 100 items of C.
- `delete(+List, ?X, ?Rest)`: the list without every item that matches X, which stays unbound;
  two units an item, and ten or more where X has variables.
- `length(+List, ?N)`: one unit. What is no list is a `typeError`.
- `nth0(?I, +List, ?X)`: item I, counted from 0; one unit when I is bound, else one an item.
- `reverse(+List, ?R)`: one unit for each 16 items.
- `sort(+List, ?S)`: by the total order of terms, without duplicates; one unit for each item and for
  each part of one, and one for each 8 times that two are compared.
- `sum_list(+List, ?N)`: one unit an item.
- `between(+Low, +High, ?N)`: each integer of the range; one unit each, one when N is bound.
- `atom_concat(+A, +B, ?C)`, `atom_concat(?A, ?B, +C)`: text put together, or all ways to cut it.
- `atom_length(+A, ?N)`, `upcase_atom(+A, ?U)`, `atom_number(?A, ?N)` (one of them bound).
- `sub_atom(+A, ?Before, ?Length, ?After, ?Sub)`: all parts of a text, one unit more for each; with
  Sub bound, all places.
- `split_string(+Text, +Separators, ?Parts)`: cut at every character of Separators, of which four
  cost a unit.
  Text built-ins cost one unit and one more for each 100 characters of all their texts; those that
  give several solutions, for each. A number given as text is taken as its text.
- `findall(Template, Goal, ?List)`: one unit a solution, more when the template is long.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UNITS_MAX: Final = 100_000
"""The evaluation budget of one event."""
SPACE_UNITS_MAX: Final = 6_000
"""The same at the controller of a space: what a host does with a tuple waits for these rulings, so
they are not cut into slices."""
NESTED_MAX: Final = 40_000
"""How deep calls of helpers may nest; a last goal of a clause nests no deeper than the clause."""
OPERATIONS_MAX: Final = 10_000
"""The most operations a ruling may have."""
MESSAGES_MAX: Final = 1_000
"""The most messages that a ruling may send and deliver, each counted once for each receiver."""
COPIES_BYTES_MAX: Final = 16_777_216
"""The most bytes of one message, counted once for each of its receivers; as prices are, of the
version `law.budget.PRICES`."""
RULING_BYTES_MAX: Final = 1_000_000
"""The largest ruling, in bytes of its binary form."""


class Builtin(NamedTuple):
    """`needs`: for each mode, the positions that must be bound. `binds`: bound after success."""

    needs: tuple[tuple[int, ...], ...]
    binds: tuple[int, ...]
    solutions: bool  # whether a call may have more than one


BUILTINS: Final[dict[tuple[str, int], Builtin]] = {
    ("member", 2): Builtin(((1,),), (0, 1), True),
    ("append", 3): Builtin(((0, 1), (2,)), (0, 1, 2), True),
    ("delete", 3): Builtin(((0,),), (0, 2), False),
    ("length", 2): Builtin(((0,),), (0, 1), False),
    ("nth0", 3): Builtin(((1,),), (0, 1, 2), True),
    ("reverse", 2): Builtin(((0,),), (0, 1), False),
    ("sort", 2): Builtin(((0,),), (0, 1), False),
    ("sum_list", 2): Builtin(((0,),), (0, 1), False),
    ("between", 3): Builtin(((0, 1),), (0, 1, 2), True),
    ("atom_concat", 3): Builtin(((0, 1), (2,)), (0, 1, 2), True),
    ("atom_length", 2): Builtin(((0,),), (0, 1), False),
    ("sub_atom", 5): Builtin(((0,),), (0, 1, 2, 3, 4), True),
    ("split_string", 3): Builtin(((0, 1),), (0, 1, 2), False),
    ("upcase_atom", 2): Builtin(((0,),), (0, 1), False),
    ("atom_number", 2): Builtin(((0,), (1,)), (0, 1), False),
}
"""Name and number of arguments of every built-in but `findall`, which is a goal of its own."""

SPINE_ENOUGH: Final = frozenset(("member", "append", "delete", "length", "nth0", "reverse"))
"""Built-ins that need a list of known length; its items may be unbound."""
