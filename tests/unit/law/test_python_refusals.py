"""What a law in Python may not say is refused with its place, and any text gets an answer."""

from textwrap import dedent

import pytest
from hypothesis import given, strategies as st

from nomospace.law.python import CODES, parse_python
from nomospace.law.python.reading import NESTING_MAX, PYTHON_BYTES_MAX
from nomospace.law.tree import LawTree
from nomospace.terms import Source
from tests.unit.law.python_texts import (
    OPENING,
    RULE,
    faults_of,
    read,
    with_body,
)

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
