"""A law made ready to rule: its tree, its hash, its compiled code and its interpreter.

Loading reads, checks and compiles. Compiled laws are kept by hash, so that a thousand members of
one community share one program.

`prepare` does all of that which takes long, and gives what can be sent to another process; there
`CompiledLaw` is made of it. A host has the texts of others prepared so, and tells `remember` what
became of them: loading one of these then takes no time, and whoever loads it need not know.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from nomospace.errors import CallerError, NomospaceError
from nomospace.law.bag import Bag
from nomospace.law.budget import Units, ending
from nomospace.law.canon import law_hash
from nomospace.law.checks import check
from nomospace.law.emit import BUDGET, LawBuilder, LawCode, Retreat, Ruler
from nomospace.law.interpret import Circumstances, Interpreter, Outcome
from nomospace.law.parse import parse
from nomospace.law.prices import INTERPRETED, priced
from nomospace.law.tree import FindAll, LawTree, Sense, goals_in, nodes_of, variables_in
from nomospace.terms import Diagnostic, Faulty, Source, Term

FRAMES_MAX: Final = 400_000
"""Python frames that a law's recursion may take: its budget ends it before they do."""
GROWN_MAX: Final = 32
"""How many times its largest input a term may be that a law makes without being measured first."""
CACHE_MAX: Final = 256
"""How many compiled laws are kept."""


class LawFile(CallerError):
    """A law's file cannot be read."""

    code = "law.file"
    words = "cannot read the law {path}: {why}"
    path: str
    why: str


class CompiledLaw:
    """A law that can be asked for rulings. Stateless: control states are handed to it."""

    def __init__(
        self,
        tree: LawTree,
        hash: str,
        warnings: tuple[Diagnostic, ...],
        prepared: Prepared | None = None,
    ) -> None:
        self.tree = tree
        self.hash = hash
        self.warnings = warnings
        self.priced = priced(tree)
        self.rule_names = [rule.name for rule in tree.rules]
        code, self.growing = prepared or prepare(self.priced, hash, lately=True)
        self.rulers = code.link(self._interpreted)
        """The compiled rules by event, which change the state themselves where that is simple."""
        self.compiled_rules = code.compiled
        self.bounds = code.bounds
        """Of each rule how large its rulings may be, as `emit.sizes` has it."""
        self.retreats = 0
        self._recursive = bool(tree.helpers)

    @cached_property
    def interpreter(self) -> Interpreter:
        """What the law means, said plainly. Most laws are never asked for it."""
        made = Interpreter(self.priced, self.hash)
        left = [index for index, compiled in enumerate(self.compiled_rules) if not compiled]
        made.left = frozenset(left)
        return made

    finder: ClassVar[Callable[..., CompiledLaw] | None] = None
    """Who finds laws that are no files here. `client.laws` sets itself: this room has no wires."""

    @staticmethod
    def load(source: str | Path, **where: object) -> CompiledLaw:
        """Read, check and compile a law's file, in either language (`.law` or `.law.py`).

        As `nomospace.Law.load` it takes texts, addresses and names in a law server too, and all
        that `client.laws.load_law` takes: `server`, `authority`, `timeout`.

        Raises `LawFile` when it cannot be read, and `Faulty` with every error found in it.
        """
        if CompiledLaw.finder is None:
            return load_source(read_source(str(source)))
        return CompiledLaw.finder(source, **where)

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def initial(self) -> tuple[Term, ...]:
        """The control state that a member starts with."""
        return self.tree.initial

    def act(
        self,
        event: str,
        home: str,
        args: tuple[Term, ...],
        state: Bag,
        obligations: Bag,
        now: int,
        units: Units,
    ) -> Any:
        """The ruling on an event: rule and operations, or `None` when no rule has a solution.

        A ruling whose change of state is simple has been carried out. Such a ruling has a third
        part: its one change, as the controller records it. Raises `Stop` when the evaluation goes
        past a bound or an operation cannot be; then the state is as it was.
        """
        ruler = self.rulers.get(event)
        if ruler is None:
            return None
        x, y, z = args if len(args) == 3 else (*args, None, None, None)[:3]
        spent = units[0]
        try:
            if not self._recursive:
                return ruler(home, x, y, z, state, obligations, now, units)
            outcome = _recursing(ruler, home, x, y, z, state, obligations, now, units)
        except Retreat:  # the event has something that compiled code was not made for
            _take_back(units, spent)
            self.retreats += 1
            case = event, home, args, state, obligations, now, units
            return self.interpreter.rule(*case, rate=INTERPRETED)
        if outcome is BUDGET:
            raise ending(units)
        return outcome

    def _interpreted(self, index: int) -> Ruler:
        """A rule that the interpreter carries out, in the form of a compiled one."""
        rule = self.tree.rules[index]
        arity = len(rule.args)

        def ask(
            home: str, x: Term, y: Term, z: Term, state: Bag, owed: Bag, now: int, units: Units
        ) -> Outcome:
            case = Circumstances(home, (x, y, z)[:arity], state, owed, now, units)
            return self.interpreter.one(index, case, INTERPRETED)

        return ask

    def __repr__(self) -> str:
        return f"<law {self.name} {self.hash[:12]}>"


def _may_grow(tree: LawTree) -> bool:
    """Whether evaluation may build a term of many more parts than the law's text and its inputs.

    Each goal can multiply a value by how often it writes a variable, and each that senses brings
    another. Helpers can recurse, and findall repeats its template.
    """
    if tree.helpers:
        return True
    for rule in tree.rules:
        times = inputs = 1
        for goal in goals_in(rule.body):
            if isinstance(goal, FindAll):
                return True
            inputs += isinstance(goal, Sense)
            counts = Counter(v.name for node in nodes_of(goal) for v in variables_in(node))
            times *= max(counts.values(), default=1)
        if times * inputs > GROWN_MAX:
            return True
    return False


def _take_back(units: Units, spent: int) -> None:
    """Let units be as they were when so much was spent of the first part."""
    if len(units) > 1:
        units[1] = units[4]
    units[0] = spent


class Prepared(NamedTuple):
    """What takes long to find out about a law: its code, and whether it may grow."""

    code: LawCode
    growing: bool


def prepare(priced: LawTree, hash: str, *, lately: bool = False) -> Prepared:
    """Compile a law with its prices in it, for `CompiledLaw` to be made of, here or elsewhere.

    With `lately`, what is not large is compiled when it is first asked for (`LawBuilder.build`).
    """
    code = LawBuilder(priced, hash, acting=True).build(lately)
    return Prepared(code, _may_grow(priced))


def _recursing(ruler: Ruler, *case: object) -> object:
    """Ask compiled rules that may recurse as far as their budget goes.

    Frames of Python functions live on the heap. The collector is kept out: with a hundred thousand
    live frames and closures each of its rounds would walk them all, for nothing.
    """
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, FRAMES_MAX))
    gc.disable()
    try:
        return ruler(*case)
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


_cache: dict[str, CompiledLaw] = {}
_known: dict[bytes, CompiledLaw | NomospaceError] = {}


def known(source: Source) -> CompiledLaw | NomospaceError | None:
    """What became of a text, if that is known: the law, or why it is none."""
    return _known.get(_digest(source))


def _digest(source: Source) -> bytes:
    whole = f"{source.name}\0{source.text}"
    return sha256(whole.encode(errors="surrogatepass")).digest()


def remember(source: Source, became: CompiledLaw | NomospaceError) -> None:
    """Have `load` give this law for a text, or raise this error."""
    if len(_known) >= CACHE_MAX:
        del _known[next(iter(_known))]
    _known[_digest(source)] = became
    if isinstance(became, CompiledLaw):
        _keep(became)


def _keep(law: CompiledLaw) -> None:
    if len(_cache) >= CACHE_MAX:
        del _cache[next(iter(_cache))]
    _cache[law.hash] = law


def load(text: str, name: str = "<law>") -> CompiledLaw:
    """Read, check and compile a law's text, in either language.

    A name that ends in `.py` means restricted Python. Raises `Faulty` with every error found.
    """
    return load_source(Source(text, name))


def load_source(source: Source) -> CompiledLaw:
    """`load`, from a text that knows its name."""
    became = known(source) if _known else None
    if became is not None:
        if isinstance(became, CompiledLaw):
            return became
        raise became.with_traceback(None)  # it is raised again and again
    tree, hash, found = sound(source)
    compiled = _cache.get(hash)
    like = None if compiled is None else compiled.tree.source
    # The name too: messages give it, and one text may stand in several files.
    if compiled is None or like is None or (like.text, like.name) != (source.text, source.name):
        compiled = CompiledLaw(tree, hash, tuple(found))
        _keep(compiled)
    return compiled


def sound(source: Source) -> tuple[LawTree, str, list[Diagnostic]]:
    """Read and check a text: the law, its hash, its warnings; raises `Faulty`."""
    tree, found = examine(source)
    if any(d.severity == "error" for d in found):
        raise Faulty(source=source, diagnostics=tuple(found))
    return tree, law_hash(tree), found


def examine(source: Source) -> tuple[LawTree, list[Diagnostic]]:
    """Read and check a text: the law, and all that is to be said of it, in the order of the text.

    A text with errors of form is checked as far as it could be read. Only errors count then, and
    not a missing predicate when it may stand in a clause that could not be read.
    """
    tree, found = parse_source(source)
    if not found:
        return tree, check(tree)
    more = [d for d in check(tree) if d.severity == "error"]
    if not all(d.code.startswith("preamble-") for d in found):
        more = [d for d in more if d.code != "unknown-predicate"]
    return tree, sorted([*found, *more], key=lambda d: d.span)


def parse_source(source: Source) -> tuple[LawTree, list[Diagnostic]]:
    """Read a text in the language that its name tells."""
    if source.name.endswith(".py"):
        from nomospace.law.python import parse_python

        return parse_python(source)
    return parse(source)


def read_source(path: str) -> Source:
    """A law's file as a source; raises `LawFile` when it cannot be read."""
    try:
        return Source(Path(path).read_text(encoding="utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise LawFile(path=path, why=f"it is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise LawFile(path=path, why=error.strerror or str(error)) from None
