"""Deliberate bugs in the controller, the control state and the compiler of laws."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

DIFFERENTIAL: Final = "tests/models/test_law_differential.py"
MEMBERSHIP: Final = "tests/models/test_membership.py"
BAG: Final = "tests/models/test_bag.py"
PAPER: Final = "tests/paper"

CONTROL: Final = "control/membership.py"
CARRYING: Final = "control/carrying.py"
BAG_FILE: Final = "law/bag.py"
BODY: Final = "law/emit/body.py"
PLAIN: Final = "law/emit/plain.py"
DISPATCH: Final = "law/emit/dispatch.py"
TERMS: Final = "law/emit/terms.py"
RUNTIME: Final = "law/runtime.py"
BUDGET: Final = "law/budget.py"

RULINGS: Final = (
    # -- the controller --------------------------------------------------------------------
    Mutant(
        "an obligation fires twice",
        CONTROL,
        """        self._rule(owed, now, effects, due, (gone,), then, slice)
""",
        """        self._rule(owed, now, effects, due, (gone,), then, slice)
        self._rule(owed, now, effects, due, (), then, slice)
""",
        MEMBERSHIP,
    ),
    Mutant(
        "an obligation is lost over a restore",
        CONTROL,
        "member.obligations.load(snapshot.obligations)",
        "member.obligations.load(snapshot.obligations[1:])",
        MEMBERSHIP,
    ),
    Mutant(
        "an obligation imposed in the past holds up others that are due",
        CONTROL,
        """                later.append(entry)
                continue
""",
        """                later.append(entry)
                break
""",
        MEMBERSHIP,
    ),
    Mutant(
        "a repeal drops only one",
        CARRYING,
        "for place, term in gone:",
        "for place, term in gone[:1]:",
        MEMBERSHIP,
    ),
    Mutant(
        "the state keeps what a ruling did before it stopped",
        CONTROL,
        """            self._revert(delta)
            del effects[at + 1 :]
""",
        """            del effects[at + 1 :]
""",
        MEMBERSHIP,
    ),
    Mutant(
        "messages of a ruling that stopped go out",
        CONTROL,
        """            self._revert(delta)
            del effects[at + 1 :]
""",
        """            self._revert(delta)
""",
        MEMBERSHIP,
    ),
    Mutant(
        "an exception on an exception is ruled on again",
        CONTROL,
        'if stopped is not None and event.kind != "exception":',
        "if stopped is not None:",
        MEMBERSHIP,
    ),
    Mutant(
        "a list of destinations is served only once",
        CARRYING,
        "for one in to])",
        "for one in to[:1]])",
        MEMBERSHIP,
    ),
    # -- the control state -----------------------------------------------------------------
    Mutant(
        "<- loses the place of what it replaces",
        BAG_FILE,
        "        old = self[place]\n",
        "        old = self.pop(place)\n",
        MEMBERSHIP,
    ),
    Mutant(
        "<- to another functor goes to the end",
        BAG_FILE,
        """        self.drop(place, old)
        self.put(place, new)
""",
        """        self.drop(place, old)
        self.add(new)
""",
        MEMBERSHIP,
    ),
    Mutant(
        "a term that is gone stays in the index",
        BAG_FILE,
        """    del found[place]
    if not found:
""",
        """    if not found:
""",
        BAG,
    ),
    # -- the compiler ----------------------------------------------------------------------
    Mutant(
        "a do of an alternative that failed survives",
        BODY,
        """            self._after_block(path)
        self.w.line(path.at.fail)

    def _after_block""",
        """            self._after_block(path)
            for part in tree.goals_in(alternative):
                if isinstance(part, tree.Do):
                    ops = self.plain.simple(part, path.scope, path.ops, path.at)
                    path = path._replace(ops=ops)
        self.w.line(path.at.fail)

    def _after_block""",
        DIFFERENTIAL,
    ),
    Mutant(
        "negation binds",
        BODY,
        """            flag, _ = self._region(goal.goal, path)
            self.w.line(f"if {flag}: {path.at.fail}")
""",
        """            flag, points = self._region(goal.goal, path)
            self.w.line(f"if {flag}: {path.at.fail}")
            path = path._replace(scope=points[0][0] if points else path.scope)
""",
        DIFFERENTIAL,
    ),
    Mutant(
        "the else part is tried when the then part fails",
        BODY,
        "self.goals(path.through(goal.then)._replace(scope=scope, ops=ops))",
        'self.goals(path.through(goal.then).copy("pass")._replace(scope=scope, ops=ops))',
        DIFFERENTIAL,
    ),
    Mutant(
        "the newest term is sensed first",
        PLAIN,
        'walk = bucket if places else f"{bucket}.values()"',
        'walk = bucket if places else f"list(reversed({bucket}.values()))"',
        DIFFERENTIAL,
    ),
    Mutant(
        "member costs nothing",
        BODY,
        """            self.plain.spend()
            wanted = Ref(given[0]) if bound[0] else symbols[0]
""",
        """            wanted = Ref(given[0]) if bound[0] else symbols[0]
""",
        DIFFERENTIAL,
    ),
    Mutant(
        "rules are tried from the last",
        DISPATCH,
        "chain = _numbers(in_order(own, others))",
        "chain = _numbers(in_order(own, others))[::-1]",
        DIFFERENTIAL,
    ),
    Mutant(
        "dispatch forgets a rule with a variable for its message",
        DISPATCH,
        """    return sorted([*own, *others], key=lambda entry: entry[0]) if others else own
""",
        """    return own or others
""",
        DIFFERENTIAL,
    ),
    Mutant(
        "1 and 1.0 are taken for one value",
        TERMS,
        'return f"({y} != {x} or {y}.__class__ is not {name})"',
        'return f"({y} != {x})"',
        DIFFERENTIAL,
    ),
    Mutant(
        "a pattern takes compounds with more arguments",
        TERMS,
        'self._fail_if(f"len({args}) != {len(shape.args)}", fail)',
        'self._fail_if(f"len({args}) < {len(shape.args)}", fail)',
        DIFFERENTIAL,
    ),
    Mutant(
        "a ruling that carries itself out counts the wrong way",
        "law/emit/operations.py",
        "'+' if symbol.name == 'incr' else '-'",
        "'-' if symbol.name == 'incr' else '+'",
        MEMBERSHIP,
    ),
    # -- what compiler and interpreter share -----------------------------------------------
    Mutant(
        "the budget ends one unit too early",
        BUDGET,
        "if units[0] > UNITS_MAX and used_up(units):",
        "if units[0] >= UNITS_MAX and used_up(units):",
        DIFFERENTIAL,
    ),
    Mutant(
        "the clock shows milliseconds",
        "law/arithmetic.py",
        "return now // 1_000_000 if now % 1_000_000 == 0 else now / 1_000_000",
        "return now // 1_000 if now % 1_000 == 0 else now / 1_000",
        PAPER,
    ),
    Mutant(
        "a message is delivered to another agent than the home",
        RUNTIME,
        """    if to != home:
        raise Stop("notLocal", operation)
""",
        "",
        f"{DIFFERENTIAL} {PAPER}",
    ),
)
