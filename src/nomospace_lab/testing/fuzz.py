"""Garbage for the parsers, made from a seed, and a runner that feeds it to them.

    python -m nomospace_lab.testing.fuzz --inputs 1000000 --seed 1 --jobs 2

Inputs are soups of tokens and mutations of texts that are right: pieces deleted, doubled, swapped
and spliced, bits flipped, brackets nested, runs drawn out, odd characters put in. The same seed
and index always give the same input.

What is demanded of a parser: the law parsers never raise and give a law with its faults, each of
which can be drawn; a text without faults has a canonical form that reads back, and a layout that
keeps it. The term parser gives a value that prints and reads back, or raises a `LawError` or a
`CallerError`. Each input is done within `INPUT_MS_MAX` of processor time, and a batch of them
grows the process by at most `BATCH_GROWTH_MB_MAX`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from msgspec.structs import replace

from nomospace.errors import CallerError, LawError
from nomospace.law.canon import canonical
from nomospace.law.format import format_law
from nomospace.law.parse import parse
from nomospace.law.python import parse_python
from nomospace.law.tree import LawTree
from nomospace.terms import Diagnostic, Source, same, show, term

INPUT_CHARS_MAX: Final = 40_000
"""The longest input that is made. The parsers' own limit, a million bytes, has tests of its own."""
INPUT_MS_MAX: Final = 250
"""What one input may take, in milliseconds of processor time."""
BATCH: Final = 2_000
"""Inputs between two looks at the memory."""
BATCH_GROWTH_MB_MAX: Final = 64
"""What a batch may add to the largest size the process has had."""
SHRINK_TRIES_MAX: Final = 2_000

LAWS: Final = (
    """law(rate).
authority(admin, "ed25519:AAAA"). cAuthority('ed25519:BBBB'). initialCS([quota(3), seen([])]).
clearMessages. disclose(all).
R1. sent(X, publish(M), Y) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. sent(X, publish(M), Y) :- do(deliver(Self, refused(quota), Self)).   % refused
R3. arrived(X, M, Y) :- do(deliver).
R4. adopted(_) :- do(imposeObligation(refill, 1, hour)).
R5. obligationDue(refill) :- do(quota(_) <- quota(3)), do(imposeObligation(refill, 1, hour)).
""",
    """law(conditions).
sent(X, m(A, B'), Y) :-
    \\+ a@CS, not(b@CS), clock(T)@CS, obligation(o(T))@CS,
    ( A > 0, B' =:= -1.5e3 -> do(forward)
    ; A =< 0 | A \\= B' -> ( c@CS ; d(A)@CS ), do(+ e(A)), do(- e(_))
    ; fail /* never */ ),
    findall(Z, (member(Z, [1, 2 | L]), Z mod 2 =\\= 0), Zs), length(Zs, K), K >= 1 + 2 * 3 ** 2.
helper([], _) :- true. helper([H | T], X) :- H == X ; helper(T, X).
quit :- helper([a, 'B c', "d", b'00ff', null, true], 'it''s'), do(signal(x - (-1) ^ 2)).
""",
    """law('other'). certified([issuer(ca), subject(Self), attributes([role(R)])]) :- do(+role(R)).
exception(forward(_, M, Y), Why) :- Why \\== unreachable, do(deliver(Self, failed(M, Y), Self)).
disconnected. reconnected :- thisLaw(N, H), do(signal(N@H)), do(quit).
moved(A, B) :- A = B -> do(multicast(Self, m, [a, b])) ; do(release(m, A)).
""",
)
"""Texts of the law language without faults."""

TERMS: Final = (
    "alarm(kind(fire),text('smoke in 3'))",
    "[1,-2,3.5,1.0e+22,true,null,b'00ff',[],[a|[b]],'x y']",
    "quota(3)<-quota(2)",
    "f((a:-b,c;d->e),-(1),-x,1-(2-3),2^3^4,a mod b,\\+(p),a@b)",
    "forward('a@w',m('é日本😀','\\n\\u0041'),[\"b@w\"])",
)
"""Texts of terms without faults."""

PYTHON_LAWS: Final = (
    """law = Law("rate", initial=[quota(3)])

@law.sent(publish(M), to=Y)
def publish_within_quota(cs, N):
    if cs.has(quota(N)) and N > 0:
        do(dcr(quota(N), 1)); do(forward)
    else:
        do(deliver(Self, refused("quota"), Self))

@law.arrived(M, sender=X)
def everything_is_delivered(cs):
    do(deliver)
""",
)
"""Texts of restricted Python; a mutation need not leave them right, so neither need they be."""

_TOKENS: Final = tuple(
    """sent arrived quit law initialCS do forward deliver member findall not is mod rem true fail
    X Y _ _Z X' CS Self R1 a b f 0 1 -1 2.5 1e9 'q' "s" 'it''s' b'ff' ( ) [ ] , | ; . :- -> <- =
    \\= == \\== < > =< >= =:= =\\= + - * / // ** ^ @ \\+ ' " % /* */ \\ ! { } # ` ~ & $ ?
    :""".split()
)
_PYTHON_TOKENS: Final = (
    *"""law = Law ( ) [ ] { } @ . , : sent arrived def f cs has do if elif else and or not for in
    while return lambda import is None True False X Y N quota 0 1 2.5 "s" f"{ + - * ** == < <= del
    class yield await async := ; \\ # ''' ...""".split(),
    "\n",
    "\n    ",
    "\t",
)
_ODD: Final[tuple[str, ...]] = (
    *"\0\x01\x1b\x7f\x85\xa0\u200b\u2028\u202e\ufeff\ufffd\ud800\udfff\U0010ffff",
    *"é日😀٣²Ω",
    "\r\n",
    "\r",
)
_RUNS: Final[tuple[str, ...]] = (*"a1 '\n(%.,\\-_9é", "\\u", "''", "0.")
_NESTS: Final = (
    ("(", ")"), ("[", "]"), ("f(", ")"), ("[a|", "]"), ("not(", ")"), ("\\+ ", ""), ("- ", ""),
    ("a,", ""), ("a;", ""), ("a->", ""), ("(a->b;", ")"), ("1+", ""), ("2^", ""), ("a=", ""),
    ("do(", ")"), ("findall(X,", ",L)"), ("/*", "*/"), ("'", "'"), ("{", "}"), ("a:-", ""),
    ("not ", ""), ("lambda: ", ""), ("x if y else ", ""), ("-", ""), ("a.", ""), ("if a:\n ", ""),
)  # fmt: skip


def law_texts(seed: int, count: int) -> Iterator[str]:
    """Inputs for the law parser.

    >>> list(law_texts(7, 3)) == list(law_texts(7, 3))
    True
    """
    return (make("law", seed, index) for index in range(count))


def term_texts(seed: int, count: int) -> Iterator[str]:
    """Inputs for the term parser."""
    return (make("term", seed, index) for index in range(count))


def python_texts(seed: int, count: int) -> Iterator[str]:
    """Inputs for the parser of restricted Python."""
    return (make("python", seed, index) for index in range(count))


def make(target: str, seed: int, index: int) -> str:
    """The input of an index: a soup or, more often, a right text with some mutations."""
    rng = Random(f"{target} {seed} {index}")
    tokens = _PYTHON_TOKENS if target == "python" else _TOKENS
    right = {"law": LAWS, "term": TERMS, "python": PYTHON_LAWS}[target]
    if rng.random() < 0.2:
        text = _soup(rng, tokens)
    else:
        text = rng.choice(right)
        if target == "law" and rng.random() < 0.7:  # a few clauses: most faults need no more
            text = "".join(rng.sample(text.splitlines(keepends=True), 2))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 9))):
        text = rng.choice(_MUTATIONS)(rng, text, right, tokens)
    return text[:INPUT_CHARS_MAX]


def _soup(rng: Random, tokens: Sequence[str]) -> str:
    count = rng.choice((1, 3, 10, 30, 100))
    glue = rng.choice(("", " ", " ", "\n"))
    return glue.join(rng.choices(tokens, k=count))


_Mutation = Callable[[Random, str, Sequence[str], Sequence[str]], str]


def _cut(rng: Random, text: str) -> tuple[int, int]:
    """Two places in order, most often near each other."""
    start = rng.randint(0, len(text))
    width = rng.choice((1, 1, 2, 5, 20, len(text)))
    return start, min(len(text), start + width)


def _delete(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    start, end = _cut(rng, text)
    return text[:start] + text[end:]


def _double(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    start, end = _cut(rng, text)
    return text[:end] + text[start:end] * rng.choice((1, 1, 2, 10)) + text[end:]


def _swap(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    a, b, c, d = sorted(rng.randint(0, len(text)) for _ in range(4))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _splice(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    other = rng.choice(right)
    start, end = _cut(rng, other)
    at = rng.randint(0, len(text))
    return text[:at] + other[start:end] + text[at:]


def _flip(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    if not text:
        return text
    at = rng.randrange(len(text))
    return text[:at] + chr((ord(text[at]) ^ (1 << rng.randrange(7))) % 0x110000) + text[at + 1 :]


def _put(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(tokens) + text[at:]


def _odd(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(_ODD) + text[at:]


def _nest(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    opening, closing = rng.choice(_NESTS)
    levels = (
        rng.choice((1, 2, 3, 5, 8, 60, 61)) if rng.random() < 0.97 else rng.choice((999, 3_000))
    )
    start, end = _cut(rng, text)
    inner = text[start:end] if rng.random() < 0.5 else "a"
    closings = closing * (levels if rng.random() < 0.8 else levels - 1)
    return text[:start] + opening * levels + inner + closings + text[end:]


def _run(rng: Random, text: str, right: Sequence[str], tokens: Sequence[str]) -> str:
    at = rng.randint(0, len(text))
    length = rng.choice((10, 100, 1_300)) if rng.random() < 0.97 else 20_000
    return text[:at] + rng.choice(_RUNS) * length + text[at:]


_MUTATIONS: Final[tuple[_Mutation, ...]] = (
    _delete, _delete, _double, _swap, _splice, _flip, _put, _put, _odd, _nest, _run
)  # fmt: skip


# -- what is demanded ----------------------------------------------------------------------


@dataclass(frozen=True)
class FuzzFailure:
    """An input that broke a demand."""

    target: str
    text: str
    why: str


def _check_law(text: str) -> bool:
    """Whether the text is a law; raises when the parser breaks its promise."""
    source = Source(text, "<fuzz>")
    law, faults = parse(source)
    _check_faults(source, law, faults)
    if not faults:
        form = canonical(law)
        again, more = parse(Source(form))
        assert not more, f"the canonical form has a fault: {more[0].message}"
        assert canonical(again) == form, "the canonical form of the canonical form differs"
        format_law(text)
    return not faults


def _check_faults(source: Source, law: LawTree, faults: list[Diagnostic]) -> None:
    assert isinstance(law, LawTree)
    for fault in faults[:3]:
        assert fault.code
        assert fault.message
        assert 0 <= fault.span.start <= max(len(source.text), 1), "a fault outside the text"
        fault.render(source)


def _check_term(text: str) -> bool:
    try:
        value = term(text)
    except (LawError, CallerError) as refusal:
        words = str(refusal)
        assert words, "an error without words"
        return False
    assert same(term(show(value)), value), "what is printed reads as another term"
    return True


def _check_python(text: str) -> bool:
    source = Source(text, "<fuzz>")
    law, faults = parse_python(source)
    _check_faults(source, law, faults)
    if not faults:
        rules = tuple(replace(rule, label=None) for rule in law.rules)  # those may be Python's own
        form = canonical(replace(law, rules=rules))
        again, more = parse(Source(form))
        assert not more, f"the canonical form has a fault: {more[0].message}"
        assert canonical(again) == form, "the canonical form of the canonical form differs"
    return not faults


TARGETS: Final[dict[str, Callable[[str], bool]]] = {
    "law": _check_law,
    "term": _check_term,
    "python": _check_python,
}


@dataclass
class Tally:
    """What came of some inputs."""

    inputs: int = 0
    right: int = 0
    slowest_ms: float = 0.0
    growth_mb: float = 0.0
    failures: list[FuzzFailure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take another tally in."""
        self.inputs += other.inputs
        self.right += other.right
        self.slowest_ms = max(self.slowest_ms, other.slowest_ms)
        self.growth_mb = max(self.growth_mb, other.growth_mb)
        self.failures += other.failures


def run_batch(seed: int, first: int, count: int) -> Tally:
    """Feed inputs `first` and following to the parsers, each target in its turn."""
    tally = Tally()
    names = tuple(TARGETS)
    before = _largest_mb()
    for index in range(first, first + count):
        target = names[index % len(names)]
        text = make(target, seed, index)
        right, took_ms, why = attempt(target, text)
        tally.inputs += 1
        tally.right += right
        tally.slowest_ms = max(tally.slowest_ms, took_ms)
        if why:
            tally.failures.append(FuzzFailure(target, text, why))
    tally.growth_mb = _largest_mb() - before
    if tally.growth_mb > BATCH_GROWTH_MB_MAX:
        why = f"inputs {first} and following grew the process by {tally.growth_mb:.0f} MB"
        tally.failures.append(FuzzFailure("memory", "", why))
    return tally


def attempt(target: str, text: str) -> tuple[bool, float, str]:
    """Whether the text was right, what it took, and why it is a failure (empty when it is none)."""
    why, right, took_ms = "", False, float("inf")
    for _ in range(3):  # a busy machine makes a slow one slower: the best of three counts
        start = time.thread_time()
        try:
            right = TARGETS[target](text)
        except Exception as error:  # any that is not promised is a finding
            why = f"{type(error).__name__}: {str(error)[:500]}"
        took_ms = min(took_ms, (time.thread_time() - start) * 1_000)
        if why or took_ms <= INPUT_MS_MAX:
            break
    if not why and took_ms > INPUT_MS_MAX:
        why = f"took {took_ms:.0f} ms, over the limit of {INPUT_MS_MAX} ms"
    return right, took_ms, why


def shrink(failure: FuzzFailure) -> FuzzFailure:
    """A shorter input that fails in the same way, found by leaving pieces out."""
    kind = failure.why.partition(":")[0].partition(" ")[0]
    text, why = failure.text, failure.why
    tries = 0
    width = len(text) // 2
    while width and tries < SHRINK_TRIES_MAX:
        start, found = 0, False
        while start < len(text) and tries < SHRINK_TRIES_MAX:
            tries += 1
            shorter = text[:start] + text[start + width :]
            again = attempt(failure.target, shorter)[2]
            if again.partition(":")[0].partition(" ")[0] == kind:
                text, why, found = shorter, again, True
            else:
                start += width
        if not found:
            width //= 2
    return FuzzFailure(failure.target, text, why)


def _largest_mb() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1_000_000 if sys.platform == "darwin" else 1_000)


# -- the command ---------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 when a demand was broken."""
    asked = argparse.ArgumentParser(
        prog="python -m nomospace_lab.testing.fuzz", description="Feed garbage to the parsers."
    )
    asked.add_argument("--inputs", type=int, default=100_000, help="how many (100,000)")
    asked.add_argument("--seed", type=int, default=1, help="what they are made from (1)")
    asked.add_argument("--jobs", type=int, default=1, help="processes (1)")
    asked.add_argument(
        "--save", type=Path, default=Path("fuzz-failure.txt"), help="where a failing input goes"
    )
    options = asked.parse_args(arguments)
    start = time.monotonic()
    total = Tally()
    shown = 0.0
    for tally in _batches(options.seed, options.inputs, options.jobs):
        total.add(tally)
        took = time.monotonic() - start
        if took - shown > 5 or total.inputs >= options.inputs:
            shown = took
            print(_progress(total, options.inputs, took), flush=True)
        if len(total.failures) > 100:
            print("more than 100 failures: stopped")
            break
    if not total.failures:
        return 0
    with_input = [failure for failure in total.failures if failure.target in TARGETS]
    for failure in (f for f in total.failures if f.target not in TARGETS):
        print(failure.why)
    if with_input:
        shortest = shrink(min(with_input, key=lambda failure: len(failure.text)))
        options.save.write_text(shortest.text, encoding="utf-8", errors="surrogatepass")
        print(f"{len(with_input)} inputs failed; the shortest, for the {shortest.target} parser:")
        print(f"  {shortest.text[:300]!r}\n  {shortest.why}\n  saved in {options.save}")
    return 1


def _batches(seed: int, inputs: int, jobs: int) -> Iterator[Tally]:
    firsts = range(0, inputs, BATCH)
    counts = [min(BATCH, inputs - first) for first in firsts]
    if jobs < 2:
        yield from map(run_batch, [seed] * len(counts), firsts, counts)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_batch, [seed] * len(counts), firsts, counts)


def _progress(total: Tally, inputs: int, took: float) -> str:
    return (
        f"{total.inputs:,} of {inputs:,} inputs, {total.right:,} of them right, "
        f"{total.inputs / max(took, 0.001):,.0f} a second, slowest {total.slowest_ms:.0f} ms, "
        f"most growth {total.growth_mb:.0f} MB, {len(total.failures)} failures"
    )


if __name__ == "__main__":
    raise SystemExit(main())
