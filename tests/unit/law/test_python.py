"""Restricted Python: each construct against the `.law` text that says the same, each refusal
with its code and place, limits, and garbage.
"""

from textwrap import dedent, indent

import pytest
from hypothesis import given, strategies as st

from nomospace.law.parse import parse
from nomospace.law.python import CODES, parse_python
from nomospace.law.python.reading import NESTING_MAX, PYTHON_BYTES_MAX
from nomospace.law.tree import LawTree
from nomospace.terms import Diagnostic, Source
from tests.unit.law.shapes import law_shape

OPENING = 'law = Law("test")\n'
RULE = OPENING + "@law.sent(M, to=Y)\ndef rule(cs):\n"


def read(text: str) -> LawTree:
    source = Source(text)
    law, faults = parse_python(source)
    assert not faults, "\n".join(fault.render(source) for fault in faults)
    assert law.language == "python"
    return law


def read_law(text: str) -> LawTree:
    law, faults = parse(Source(text))
    assert not faults, faults
    return law


def faults_of(text: str) -> list[Diagnostic]:
    return parse_python(Source(text))[1]


def with_body(text: str) -> str:
    return RULE + indent(dedent(text).strip(), "    ") + "\n"


def assert_alike(python: str, law: str) -> None:
    assert law_shape(read(python)) == law_shape(read_law(law))


# -- the whole ---------------------------------------------------------------------------------


def test_the_law_of_the_design_is_the_same_in_both_languages() -> None:
    assert_alike(
        """
law = Law("rate", initial=[quota(3)])

@law.sent(publish(M), to=Y)
def publish_within_quota(cs, N):
    if cs.has(quota(N)) and N > 0:
        do(dcr(quota(N), 1)); do(forward)
    else:
        do(deliver(Self, refused("quota"), Self))
""",
        """law(rate). initialCS([quota(3)]).
        sent(Self, publish(M), Y) :-
            ( quota(N)@CS, N > 0 -> do(dcr(quota(N), 1)), do(forward)
            ; do(deliver(Self, refused(quota), Self)) ).""",
    )


def test_the_preamble_says_all_that_a_law_can() -> None:
    assert_alike(
        '''"""Who may do what."""
law = Law("ward", initial=[role(none_yet), limit(-2.5)], disclose="all",
          authorities={"admin": "ed25519:aa", "ca": "ed25519:bb"},
          controller_authority="ed25519:cc", clear_messages=True)
''',
        """law(ward). initialCS([role(none_yet), limit(-2.5)]). disclose(all).
        authority(admin, "ed25519:aa"). authority(ca, "ed25519:bb").
        cAuthority("ed25519:cc"). clearMessages.""",
    )


def test_messages_in_clear_can_be_denied_outright() -> None:
    assert law_shape(read('law = Law("l", clear_messages=False)')) == law_shape(read_law("law(l)."))


def test_a_rule_has_its_functions_name_and_words() -> None:
    law = read(OPENING + '@law.quit()\ndef farewell(cs):\n    """Say nothing."""\n')
    assert (law.rules[0].label, law.rules[0].comment) == ("farewell", "Say nothing.")


@pytest.mark.parametrize(
    ("decorator", "head"),
    [
        ("sent(hello, to=Y)", "sent(Self, hello, Y)"),
        ("sent(M)", "sent(Self, M, _)"),
        ("arrived([A, *R], sender=X)", "arrived(X, [A | R], Self)"),
        ("arrived(_)", "arrived(_, _, Self)"),
        ("obligation_due(refill(K))", "obligationDue(refill(K))"),
        ("exception(forward(X, M, Y), unreachable)", "exception(forward(X, M, Y), unreachable)"),
        ("exception(add(t), Why)", "exception(+t, Why)"),
        ("exception(-gone(X), Why)", "exception(-gone(X), Why)"),
        ("exception(replace(a, b), Why)", "exception(a <- b, Why)"),
        ("exception(impose(O, T, U), W)", "exception(imposeObligation(O, T, U), W)"),
        ("exception(certify(C), invalidCertificate)", "exception(certify(C), invalidCertificate)"),
        ("exception(Op, Why)", "exception(Op, Why)"),
        ("adopted([name(N)])", "adopted([name(N)])"),
        ("disconnected()", "disconnected"),
        ("reconnected()", "reconnected"),
        ("quit()", "quit"),
        ("submitted(M, origin=From)", "submitted(From, M, Self)"),
        ("moved(origin=A, to=B)", "moved(A, B)"),
        ("moved(to=B)", "moved(_, B)"),
        (
            "certified(issuer=admin, subject=Self, attributes=[role(R)])",
            "certified([issuer(admin), subject(Self), attributes([role(R)])])",
        ),
        (
            "revoked(attributes=As, issuer=I, subject=_)",
            "revoked([issuer(I), subject(_), attributes(As)])",
        ),
    ],
)
def test_heads(decorator: str, head: str) -> None:
    assert_alike(f"{OPENING}@law.{decorator}\ndef f(cs): pass\n", f"law(test). {head}.")


@pytest.mark.parametrize(
    ("python", "law"),
    [
        ("a", "a"),
        ("'two words'", "'two words'"),
        ("'true'", "'true'"),
        ("True", "true"),
        ("None", "null"),
        ("17", "17"),
        ("-17", "-17"),
        ("+17", "17"),
        ("-0.0", "0.0"),
        ("1.5e3", "1500.0"),
        ("b'\\x00\\xff'", "b'00ff'"),
        ("[]", "[]"),
        ("[a, [1, X], _]", "[a, [1, X], _]"),
        ("[a, *T]", "[a | T]"),
        ("[a, *[b, *T]]", "[a, b | T]"),
        ("in_([X])", "in([X])"),
        ("class_", "class"),
        ("true_", "'true'"),
        ("round_(3)", "round(3)"),
        ("length_(3)", "length(3)"),
        ("name__(3)", "name_(3)"),
        ("delete(File)", "delete(File)"),
        ("member(club)", "member(club)"),
        ("deliver(X, add(b), Peer)", "deliver(X, add(b), Peer)"),
        ("'a' 'b'", "ab"),
        ("_under", "_under"),
    ],
)
def test_terms(python: str, law: str) -> None:
    assert_alike(
        f"{OPENING}@law.sent({python}, to=Y)\ndef f(cs):\n    do(signal({python}))\n",
        f"law(test). sent(Self, {law}, Y) :- do(signal({law})).",
    )


# -- bodies ------------------------------------------------------------------------------------

BODIES = {
    "nothing": ("pass", "true"),
    "words only": ("'''Nothing.'''", "true"),
    "operations": (
        """
        do(forward)
        do(deliver(X, Msg, Self))
        do(multicast(Self, Msg, [a, b]))
        do(release(Msg, "mail:x"))
        do(add(seen(M)))
        do(remove(seen(_)))
        do(replace(last(_), last(M)))
        do(+seen(M))
        do(-seen(M))
        do(incr(n(_), 1))
        do(dcr(n(_), N * 2))
        do(impose(o, 5, "min"))
        do(impose(o, T + 5))
        do(imposeObligation(o, 5, min))
        do(repeal(o(_)))
        do(repealObligation(o))
        do(add(obligation(o, T + 5)))
        do(signal(s)); do(quit)
        """,
        """do(forward), do(deliver(X, Msg, Self)), do(multicast(Self, Msg, [a, b])),
        do(release(Msg, 'mail:x')), do(+seen(M)), do(-seen(_)), do(last(_) <- last(M)),
        do(+seen(M)), do(-seen(M)), do(incr(n(_), 1)), do(dcr(n(_), N * 2)),
        do(imposeObligation(o, 5, min)), do(imposeObligation(o, T + 5)),
        do(imposeObligation(o, 5, min)), do(repealObligation(o(_))), do(repealObligation(o)),
        do(+obligation(o, T + 5)), do(signal(s)), do(quit)""",
    ),
    "what must hold": (
        """
        require(cs.has(a(X)) and cs.obligation(o(X)) and cs.clock(T))
        require(not cs.has(b) and (X in [1, 2] or X not in L))
        require(True)
        unify(M, f(A))
        append([1], [A], L2)
        thisLaw(Name, Hash)
        cs.clock(Now)
        fail()
        """,
        """a(X)@CS, obligation(o(X))@CS, clock(T)@CS,
        not(b@CS), (member(X, [1, 2]) ; not(member(X, L))), true,
        M = f(A), append([1], [A], L2), thisLaw(Name, Hash), clock(Now), fail""",
    ),
    "comparisons": (
        """
        require(N < 1 and N <= 2 and N > 3 and N >= 4)
        require(X == Y and X != done and N == 3)
        require(N + 1 == K and K != -N and max(N, 2) == 5)
        require(0 <= N < 10)
        """,
        """N < 1, N =< 2, N > 3, N >= 4, X == Y, X \\== done, N == 3,
        N + 1 =:= K, K =\\= -(N), max(N, 2) =:= 5, 0 =< N, N < 10""",
    ),
    "arithmetic": (
        """
        A = N + 1 - 2 * 3 / 4
        B = -(N ** 2) % 7
        C = max(A, min(B, abs(sign(N))))
        D = floor(A) + ceiling(B) + round(C) + truncate(N) + rem(7, 2)
        E = (A - B) - (C - D)
        """,
        """A is N + 1 - 2 * 3 / 4, B is (-(N ** 2)) mod 7, C is max(A, min(B, abs(sign(N)))),
        D is floor(A) + ceiling(B) + round(C) + truncate(N) + rem(7, 2), E is A - B - (C - D)""",
    ),
    "division that rounds down": (
        "A = N // 2\nB = (N + 1) // (A * 2)",
        """A is (N - N mod 2) // 2,
        Value1 is N + 1, Value2 is A * 2, B is (Value1 - Value1 mod Value2) // Value2""",
    ),
    "computed inside terms": (
        """
        Value1 = a
        do(add(count(N + 1, Value1)))
        if cs.has(count(N * 2)):
            do(remove(count(-N)))
        """,
        """Value1 = a, Value2 is N + 1, do(+count(Value2, Value1)),
        ( Value3 is N * 2, count(Value3)@CS -> Value4 is -(N), do(-count(Value4)) ; true )""",
    ),
    "names for values": (
        """
        A = [1, X]
        B = done
        C = length(A)
        D = append(A, A)
        E = sort(D)
        F = nth0(0, E)
        T = cs.clock()
        L = findall(X, cs.has(q(X)) and X > 1)
        K = findall(f(X + 1), X in L)
        """,
        """A = [1, X], B = done, length(A, C), append(A, A, D), sort(D, E), nth0(0, E, F),
        clock(T), findall(X, (q(X)@CS, X > 1), L),
        findall(f(Value1), (member(X, L), Value1 is X + 1), K)""",
    ),
    "if": (
        """
        if M == a:
            do(signal(a))
        do(forward)
        """,
        "( M == a -> do(signal(a)) ; true ), do(forward)",
    ),
    "elif": (
        """
        if M == a:
            do(signal(a))
        elif M == b or M == c:
            N = 1
        else:
            N = 2
        """,
        "( M == a -> do(signal(a)) ; (M == b ; M == c) -> N = 1 ; N = 2 )",
    ),
    "early return": (
        """
        if M == a:
            do(forward)
            return
        do(signal(no))
        """,
        "( M == a -> do(forward) ; do(signal(no)) )",
    ),
    "early return further in": (
        """
        if M == a:
            do(signal(a))
            if Y == b:
                return
        elif M == c:
            return None
        do(forward)
        """,
        """( M == a -> do(signal(a)), ( Y == b -> true ; do(forward) )
        ; M == c -> true ; do(forward) )""",
    ),
    "return on every path": (
        """
        if M == a:
            return
        else:
            do(forward)
            return
        """,
        "( M == a -> true ; do(forward) )",
    ),
    "a value in each branch": (
        """
        if cs.has(n(N)):
            K = N
        else:
            N = 3
            K = N
        do(signal(K))
        """,
        "( n(N)@CS -> K = N ; N = 3, K = N ), do(signal(K))",
    ),
    "a name used in a negation stays free": (
        "require(not cs.has(n(N)))\nN = 3",
        "not(n(N)@CS), N = 3",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    python, law = BODIES[name]
    assert_alike(with_body(python), f"law(test). sent(Self, M, Y) :- {law}.")


def test_a_loop_is_a_helper_on_the_rest_of_the_list() -> None:
    assert_alike(
        with_body("""
            require(cs.has(readers(L)))
            for X in L:
                if X == Self:
                    continue
                N = 1
                do(forward(Self, item(M, N), X))
            for X in [Y]:
                for Z in X:
                    do(signal(pair(X, Z, M)))
        """),
        """law(test).
        sent(Self, M, Y) :- readers(L)@CS, rule_each1(L, M), rule_each3([Y], M).
        rule_each1([], _).
        rule_each1([X | Rest1], M) :-
            ( X == Self -> true ; N = 1, do(forward(Self, item(M, N), X)) ), rule_each1(Rest1, M).
        rule_each2([], _, _).
        rule_each2([Z | Rest2], X, M) :- do(signal(pair(X, Z, M))), rule_each2(Rest2, X, M).
        rule_each3([], _).
        rule_each3([X | Rest3], M) :- rule_each2(X, X, M), rule_each3(Rest3, M).""",
    )


def test_helpers_have_clauses_conditions_and_results() -> None:
    assert_alike(
        OPENING
        + """
@law.sent(M, to=Y)
def R1(cs):
    require(may(cs, Y) and not blocked())
    total([1, 2], N)
    tell(N)

def may(cs, Who):
    '''Friends, and those who wait.'''
    if cs.has(friend(Who)):
        return True
    if cs.has(foe(Who)):
        return False
    return cs.obligation(wait(Who)) or Who == Self

def blocked():
    return False

@law.helper([], 0)
def total(): pass

@law.helper([X, *Rest], Sum)
def total(X, Rest, Sum):
    total(Rest, Less)
    Sum = Less + X

def tell(N):
    if N > 2:
        do(signal(high(N)))

def size(L, N):
    N = length(L)
""",
        """law(test).
        R1. sent(Self, M, Y) :- may(Y), not(blocked), total([1, 2], N), tell(N).
        may(Who) :- ( friend(Who)@CS -> true ; foe(Who)@CS -> fail
                    ; (obligation(wait(Who))@CS ; Who == Self) ).
        blocked :- fail.
        total([], 0).
        total([X | Rest], Sum) :- total(Rest, Less), Sum is Less + X.
        tell(N) :- ( N > 2 -> do(signal(high(N))) ; true ).
        size(L, N) :- length(L, N).""",
    )


def test_names_for_loops_keep_clear_of_the_authors() -> None:
    law = read(
        with_body("for X in [1]:\n    do(signal(X))")
        + "def rule_each1(A): return A == Rest1\n"
        + "@law.quit()\ndef R2(cs):\n    for _ in [1]:\n        do(signal(Rest1))\n"
    )
    assert set(law.helpers) == {("rule_each2", 1), ("rule_each1", 1), ("r2_each1", 1)}


# -- refusals ----------------------------------------------------------------------------------

REFUSED_BODIES = [
    # code, statements, the text that is underlined (its beginning)
    ("python-statement", "import os", "import os"),
    ("python-statement", "from os import path", "from os"),
    ("python-statement", "while True:\n    pass", "while"),
    ("python-statement", "class A: pass", "class"),
    ("python-statement", "try:\n    pass\nexcept E:\n    pass", "try"),
    ("python-statement", "with a: pass", "with"),
    ("python-statement", "global X", "global"),
    ("python-statement", "nonlocal X", "nonlocal"),
    ("python-statement", "assert X", "assert"),
    ("python-statement", "raise X", "raise"),
    ("python-statement", "del X", "del"),
    ("python-statement", "N += 1", "N += 1"),
    ("python-statement", "N: int = 1", "N: int"),
    ("python-statement", "def inner(): pass", "def inner"),
    ("python-statement", "match M:\n    case 1: pass", "match"),
    ("python-statement", "async def f(): pass", "async"),
    ("python-statement", "for X in L:\n    break", "break"),
    ("python-statement", "continue", "continue"),
    ("python-statement", "X == 1", "X == 1"),
    ("python-statement", "do(forward)\n'text'", "'text'"),
    ("python-statement", "cs.has(a)", "cs.has(a)"),
    ("python-statement", "...", "..."),
    ("python-expression", "X = lambda: 1", "lambda"),
    ("python-expression", "X = [Y for Y in L]", "[Y for"),
    ("python-expression", "X = {Y for Y in L}", "{Y for"),
    ("python-expression", "do(signal((Y for Y in L)))", "(Y for"),
    ("python-expression", "X = {a: b for a in L}", "{a: b"),
    ("python-expression", "X = {a: b}", "{a: b}"),
    ("python-expression", "X = {a, b}", "{a, b}"),
    ("python-expression", "X = (a, b)", "(a, b)"),
    ("python-expression", "X = f'{M}'", "f'{M}'"),
    ("python-expression", "X = L[0]", "L[0]"),
    ("python-expression", "X = a if M == b else c", "a if"),
    ("python-expression", "if (N := 1): pass", "N := 1"),
    ("python-expression", "X = [*A, b]", "*A"),
    ("python-expression", "do(signal(X == 1))", "X == 1"),
    ("python-expression", "do(signal(f(g)(h)))", "f(g)(h)"),
    ("python-expression", "do(signal(not X))", "not X"),
    ("python-attribute", "X = M.__class__", "M.__class__"),
    ("python-attribute", "require(M.startswith(a))", "M.startswith"),
    ("python-attribute", "require(cs.items())", "cs.items"),
    ("python-attribute", "law.sent(M)", "law.sent"),
    ("python-attribute", "require(cs.has)", "cs.has"),
    ("python-name", "X = __import__", "__import__"),
    ("python-name", "X = café", "café"),
    ("python-name", "X = true", "true"),
    ("python-name", "X = null", "null"),
    ("python-name", "do(signal(cs))", "cs"),
    ("python-name", "X = CS", "CS"),
    ("python-name", "X = law", "law"),
    ("python-name", "__import__(a)", "__import__"),
    ("python-value", "X = 1j", "1j"),
    ("python-value", "X = 1e999", "1e999"),
    ("python-value", "X = ...", "..."),
    ("python-value", "X = '\\ud800'", "'\\ud800'"),
    ("python-value", f"X = {1 << 5000:#x}", "0x1"),
    ("python-term", "X = f()", "f()"),
    ("python-term", "X = [*L]", "[*L]"),
    ("python-term", "X = [a, *b]", "*b"),
    ("python-term", "do(signal(max(A, B)))", "max(A, B)"),
    ("python-term", "do(signal(length(L)))", "length(L)"),
    ("python-term", "do(signal(member(A, B)))", "member(A, B)"),
    ("python-term", "do(signal(do(quit)))", "do(quit)"),
    ("python-call", "X = F(a)", "F"),
    ("python-call", "require(F(a))", "F"),
    ("python-call", "X = f(a=1)", "a=1"),
    ("python-call", "X = f(*L)", "*L"),
    ("python-call", "X = f(**L)", "**L"),
    ("python-call", "require(f(g)(h))", "f(g)"),
    ("python-call", "require(length(L))", "length(L)"),
    ("python-call", "do(forward, quit)", "do("),
    ("python-call", "require()", "require()"),
    ("python-call", "fail(1)", "fail(1)"),
    ("python-call", "unify(A)", "unify(A)"),
    ("python-call", "require(cs.has(a, b))", "cs.has"),
    ("python-call", "L = findall(X)", "findall"),
    ("python-call", "T = cs.clock(1)", "cs.clock(1)"),
    ("python-condition", "if M: pass", "M"),
    ("python-condition", "if ready: pass", "ready"),
    ("python-condition", "require(1)", "1"),
    ("python-condition", "require(X is None)", "X is None"),
    ("python-condition", "require(max(A, B))", "max(A, B)"),
    ("python-condition", "require(do(forward))", "do(forward)"),
    ("python-condition", "require(X in 'abc')", "'abc'"),
    ("python-condition", "require(findall(X, Y, Z))", "findall"),
    ("python-condition", "require(clock(T))", "clock(T)"),
    ("python-condition", "require(has(a))", "has(a)"),
    ("python-condition", "require(A + 1)", "A + 1"),
    ("python-sense", "require(cs.has(3))", "3"),
    ("python-sense", "require(cs.has(clock(T)))", "clock(T)"),
    ("python-sense", "require(cs.has(obligation(O)))", "obligation(O)"),
    ("python-operation", "do(X)", "X"),
    ("python-operation", "do(fly(a))", "fly(a)"),
    ("python-operation", "do(add)", "add"),
    ("python-operation", "do(forward(a))", "forward(a)"),
    ("python-operation", "do(forward())", "forward()"),
    ("python-operation", "do('forward')", "'forward'"),
    ("python-arithmetic", "X = 'a' + Y", "'a'"),
    ("python-arithmetic", "require(N > limit)", "limit"),
    ("python-arithmetic", "X = A ^ B", "A ^ B"),
    ("python-arithmetic", "X = A @ B", "A @ B"),
    ("python-arithmetic", "X = length(L) + 1", "length(L)"),
    ("python-arithmetic", "require(f(1) < 2)", "f(1)"),
    ("python-arithmetic", "require(True < 2)", "True"),
    ("python-assignment", "A = B = 1", "A = B"),
    ("python-assignment", "[A, B] = M", "[A, B]"),
    ("python-assignment", "a = 1", "a"),
    ("python-assignment", "Self = 1", "Self"),
    ("python-assignment", "_ = 1", "_"),
    ("python-assignment", "M = 1", "M"),
    ("python-assignment", "N = 1\nN = 2", "N"),
    ("python-assignment", "N = N + 1", "N"),
    ("python-assignment", "if Y == a:\n    N = 1\nN = 2", "N"),
    ("python-assignment", "B = X > 1", "X > 1"),
    ("python-assignment", "B = not X", "not X"),
    ("python-loop", "for [A, B] in L: pass", "[A, B]"),
    ("python-loop", "for a in L: pass", "a"),
    ("python-loop", "for M in L: pass", "M"),
    ("python-loop", "for X in abc: pass", "abc"),
    ("python-loop", "for X in range(3): pass", "range(3)"),
    ("python-loop", "for X in L: pass\nelse: fail()", "fail()"),
    ("python-loop", "for X in L: pass\ndo(signal(X))", "X"),
    ("python-loop", "for X in L:\n    N = X + 1\ndo(signal(N))", "N"),
    ("python-return", "return X == 1", "X == 1"),
    ("python-return", "for X in L:\n    return", "return"),
    ("python-unreachable", "return\ndo(forward)", "do(forward)"),
    (
        "python-unreachable",
        "if M == a:\n    return\nelse:\n    return\ndo(forward)",
        "do(forward)",
    ),
    ("python-syntax", "do(signal(in([X])))", "in"),
    ("python-syntax", "X = '\\d'", "'\\d'"),
    ("python-syntax", "do(forward", "("),
]


@pytest.mark.parametrize(("code", "body", "marked"), REFUSED_BODIES)
def test_refused_in_a_body(code: str, body: str, marked: str) -> None:
    assert_refused(with_body(body), code, marked)


def assert_refused(text: str, code: str, marked: str) -> None:
    faults = faults_of(text)
    assert [fault.code for fault in faults] == [code], [f.render(Source(text)) for f in faults]
    fault = faults[0]
    assert text[fault.span.start :].startswith(marked), fault.render(Source(text))
    assert fault.severity == "error"
    assert fault.message
    assert fault.help
    if code != "python-syntax":
        # Underlined is what the fault is about: nothing before it, and something of it.
        assert fault.span.end > fault.span.start


REFUSED_TEXTS = [
    ("python-law", "", ""),
    ("python-law", "@law.quit()\ndef f(cs): pass\n", "def"),
    ("python-law", '@law.quit()\ndef f(cs): pass\nlaw = Law("l")\n', "def"),
    ("python-law", 'rules = Law("l")\n', "rules"),
    ("python-law", OPENING + 'law = Law("b")\n', 'law = Law("b")'),
    ("python-law", "law = Law()\n", "Law()"),
    ("python-law", "law = Law(l)\n", "l)"),
    ("python-law", 'law = Law("l", speed=3)\n', "speed=3"),
    ("python-law", 'law = Law("l", **rest)\n', "**rest"),
    ("python-law", 'law = Law("l", initial=[a], initial=[b])\n', "initial=[b]"),
    ("python-law", 'law = Law("l", initial=a)\n', "a)"),
    ("python-law", 'law = Law("l", initial=[quota(N)])\n', "[quota(N)]"),
    ("python-law", 'law = Law("l", initial=[tupleSpace])\n', "[tupleSpace]"),
    ("python-law", 'law = Law("l", initial=[clock(3)])\n', "[clock(3)]"),
    ("python-law", 'law = Law("l", authorities=["a"])\n', '["a"]'),
    ("python-law", 'law = Law("l", authorities={a: "k"})\n', 'a: "k"'),
    ("python-law", 'law = Law("l", authorities={"a": "k", "a": "m"})\n', '"a": "m"'),
    ("python-law", 'law = Law("l", authorities={**a})\n', "a}"),
    ("python-law", 'law = Law("l", disclose="some")\n', '"some"'),
    ("python-law", 'law = Law("l", clear_messages=1)\n', "1"),
    ("python-law", 'law = Law("l", controller_authority=key)\n', "key"),
    ("python-pattern", 'law = Law("l", initial=[quota(1 + 2)])\n', "1 + 2"),
    ("python-statement", OPENING + "import os\n", "import os"),
    ("python-statement", OPENING + "X = 3\n", "X = 3"),
    ("python-statement", OPENING + "do(forward)\n", "do(forward)"),
    ("python-decorator", OPENING + "@law.send(M)\ndef f(cs): pass\n", "law.send"),
    ("python-decorator", OPENING + "@staticmethod\ndef f(cs): pass\n", "staticmethod"),
    ("python-decorator", OPENING + "@law.quit\ndef f(cs): pass\n", "law.quit"),
    ("python-decorator", OPENING + "@law.quit()\n@law.moved()\ndef f(cs): pass\n", "law.moved()"),
    ("python-pattern", OPENING + "@law.sent()\ndef f(cs): pass\n", "law.sent()"),
    ("python-pattern", OPENING + "@law.quit(a)\ndef f(cs): pass\n", "law.quit(a)"),
    ("python-pattern", OPENING + "@law.sent(M, by=X)\ndef f(cs): pass\n", "by=X"),
    ("python-pattern", OPENING + "@law.sent(M, to=X, to=Y)\ndef f(cs): pass\n", "to=Y"),
    ("python-pattern", OPENING + "@law.sent(n(N + 1))\ndef f(cs): pass\n", "N + 1"),
    (
        "python-pattern",
        OPENING + "@law.certified(issuer=I, attributes=A)\ndef f(cs): pass\n",
        "law.",
    ),
    ("python-term", OPENING + "@law.sent(round(N))\ndef f(cs): pass\n", "round(N)"),
    ("python-term", OPENING + "def g(X): pass\n@law.sent(g(a))\ndef f(cs): pass\n", "g(a)"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(): pass\n", "def f"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(cs, n): pass\n", "n)"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(cs, N=3): pass\n", "3"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(cs, *N): pass\n", "N)"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(cs, N: int): pass\n", "int"),
    ("python-parameters", OPENING + "@law.quit()\ndef f(cs) -> int: pass\n", "int"),
    ("python-parameters", OPENING + "def f(A, A): pass\n", "A)"),
    ("python-parameters", OPENING + "def f(Self): pass\n", "Self"),
    ("python-label", OPENING + "@law.quit()\ndef f(cs): pass\ndef f(X): pass\n", "def f(X)"),
    ("python-label", OPENING + "def f(X): pass\ndef f(X): pass\n", "def f"),
    ("python-label", OPENING + "def append(A, B, C): pass\n", "def append"),
    ("python-label", OPENING + "def sent(A): pass\n", "def sent"),
    ("python-label", OPENING + "def F(A): pass\n", "def F"),
    ("python-name", OPENING + "def __init__(A): pass\n", "def __init__"),
    ("python-cs", OPENING + "def f(X): return cs.has(X)\n", "cs.has"),
    ("python-cs", OPENING + "def f(cs, X): return True\ndef g(cs, X): return f(X)\n", "f(X)"),
    ("python-cs", OPENING + "def f(X): return True\ndef g(cs, X): return f(cs, X)\n", "f(cs, X)"),
    (
        "python-cs",
        OPENING + "@law.helper(a)\ndef f(cs): pass\n@law.helper(b)\ndef f(): pass\n",
        "law.helper(b)",
    ),
    ("python-syntax", OPENING + "a\0b\n", "\0"),
    ("python-syntax", OPENING + "X = '\ud800'\n", "\ud800"),
    ("python-syntax", OPENING + "def f(:\n", ":"),
]


@pytest.mark.parametrize(("code", "text", "marked"), REFUSED_TEXTS)
def test_refused_outside_bodies(code: str, text: str, marked: str) -> None:
    assert_refused(text, code, marked)


def test_every_code_is_shown_to_be_given() -> None:
    limits = {"python-nesting", "python-size", "python-too-long"}  # shown further down
    shown = {code for code, _, _ in (*REFUSED_BODIES, *REFUSED_TEXTS)}
    assert shown | limits == set(CODES)


def test_a_helper_says_how_it_is_called_when_it_stands_in_a_term() -> None:
    (fault,) = faults_of(OPENING + "def total(L, N): pass\ndef f(L):\n    N = total(L)\n")
    assert fault.code == "python-term"
    assert "total_(…)" in fault.help


def test_all_faults_are_reported_in_the_order_of_the_text() -> None:
    text = OPENING + dedent("""
        import os
        @law.sent(M
        def broken(cs): pass

        @law.arrived(M)
        def half(cs):
            X = lambda: 1
            while True: pass
            do(flee)

        @law.adopted(A)
        @law.quit()
        def also(cs)
            pass

        @law.quit()
        def whole(cs):
            X = 1; X = 2
    """)
    assert [(fault.code, Source(text).place(fault.span.start)[0]) for fault in faults_of(text)] == [
        ("python-statement", 3),
        ("python-syntax", 4),
        ("python-expression", 9),
        ("python-statement", 10),
        ("python-operation", 11),
        ("python-syntax", 15),
        ("python-assignment", 20),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_are_characters_whatever_the_line_ends_and_letters(newline: str) -> None:
    lines = [OPENING.strip(), "# ψ", "@law.quit()", "def f(cs):", "    b('ψω\U0001f600'); X = é1"]
    text = newline.join(lines)
    (fault,) = faults_of(text)
    assert (fault.code, text[fault.span.start : fault.span.end]) == ("python-name", "é1")


def test_a_fault_that_early_returns_copy_is_told_once() -> None:
    body = "if M == a:\n    if Y == b:\n        return\n" * 4 + "do(flee)"
    assert [fault.code for fault in faults_of(with_body(body))] == ["python-operation"]


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("python-too-long", "#" * (PYTHON_BYTES_MAX + 1)),
        ("python-too-long", "#" + "é" * (PYTHON_BYTES_MAX // 2)),
        ("python-nesting", with_body("X = " + "[" * NESTING_MAX + "]" * NESTING_MAX)),
        ("python-nesting", with_body("X = " + "-" * 100_000 + "1")),
        ("python-nesting", with_body("X = " + "1 + " * 30_000 + "1")),
        ("python-nesting", with_body("require(" + "not " * 70 + "True)")),
        ("python-nesting", with_body("if M == a: pass\n" + "elif M == b: pass\n" * 70)),
        ("python-nesting", with_body("if M == a: return\n" * 70)),
        ("python-size", with_body("if M == a:\n    if Y == b: return\n" * 50)),
        ("python-syntax", "(" * 1_000),
        ("python-syntax", RULE + "    pass\n" + "".join(" " * i + "if a:\n" for i in range(150))),
    ],
)
def test_limits(code: str, text: str) -> None:
    assert code in [fault.code for fault in faults_of(text)]


def test_what_is_within_the_limits_is_read() -> None:
    deep = NESTING_MAX - 4
    read(with_body("X = " + "[" * deep + "]" * deep))
    read(with_body("X = [" + "a, " * 50_000 + "]"))
    read(with_body("if M == a: pass\n" + "elif M == b: pass\n" * 40))


def test_faults_are_counted_up_to_a_bound() -> None:
    assert len(faults_of(with_body("do(flee)\n" * 500))) == 100


# -- garbage -----------------------------------------------------------------------------------

WHOLE = (
    OPENING
    + """
@law.sent(publish([M, *Rest]), to=Y)
def publish(cs, N):
    if cs.has(quota(N)) and N > 0 or not Y in Rest:
        for X in Rest:
            do(forward(Self, item(X, N + 1), Y))
    elif may(cs, N):
        L = findall(K, cs.has(k(K)))
        return
    do(impose(refill, 5, "min"))

@law.helper([X, *Rest], S)
def total():
    total(Rest, T); S = T // X

def may(cs, A):
    return A == 'é' or cs.obligation(o(A))

@law.certified(issuer=admin, subject=Self, attributes=[role(R)])
def role(cs):
    do(+role(R))
"""
)


def assert_answers(text: str) -> None:
    law, faults = parse_python(Source(text))
    assert isinstance(law, LawTree)
    for fault in faults:
        assert fault.code in CODES
        assert 0 <= fault.span.start <= fault.span.end <= len(text) + 1
        fault.render(Source(text))


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert_answers(text)


@given(st.text(alphabet="\n ()[]{}:=@'\"\\#*.,_ifdlawcsX1\r\t\f\0é"))
def test_any_text_of_pythons_own_characters_gets_an_answer(text: str) -> None:
    assert_answers(text)


PIECES = [
    *WHOLE.replace("\n", " \n ").split(" "),
    *[
        "lambda:",
        "yield",
        "await X",
        "X[0]",
        "f'{X}'",
        "...",
        "1j",
        "->",
        "**",
        "__x__",
        "\0",
        "\f",
    ],
    *["while 1:", "class A:", "import a", "break", "continue", "return X", ":=", "if", "else:"],
]


@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 12), st.sampled_from(PIECES)),
        min_size=1,
        max_size=4,
    )
)
def test_any_mutated_law_gets_an_answer(edits: list[tuple[int, int, str]]) -> None:
    text = WHOLE
    for place, cut, piece in edits:
        text = text[:place] + piece + text[place + cut :]
    assert_answers(text)


def test_the_law_that_is_mutated_has_no_fault() -> None:
    read(WHOLE)


def test_nothing_of_a_law_is_run() -> None:
    assert_answers(OPENING + "print(open('/etc/passwd').read())\nraise SystemExit\n")
