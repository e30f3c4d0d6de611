"""Restricted Python: each construct against the `.law` text that says the same, each refusal
with its code and place, limits, and garbage.
"""

import pytest

from tests.unit.law.python_texts import (
    OPENING,
    assert_alike,
    read,
    read_law,
    with_body,
)
from tests.unit.law.shapes import law_shape

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
