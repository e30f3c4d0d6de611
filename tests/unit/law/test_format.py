from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from nomospace.law.canon import canonical
from nomospace.law.format import WIDTH_MAX, format_law
from nomospace.terms import Faulty
from nomospace.terms.tokens import comments, tokenize
from tests.unit.law.test_canon import CORPUS
from tests.unit.law.test_parse import law_of

LAYOUTS = Path(__file__).parents[2] / "laws" / "layouts"


def words_of_comments(text: str) -> list[str]:
    return sorted(" ".join(text[a:b].split()) for a, b in comments(text))


def check(text: str) -> str:
    done = format_law(text)
    assert canonical(law_of(done)) == canonical(law_of(text))
    assert format_law(done) == done
    assert words_of_comments(done) == words_of_comments(text)
    assert not re.search(r"[ \t]+$", done, re.MULTILINE)
    assert "\n\n\n" not in done
    return done


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_corpus_survives_and_looks_as_it_should(path: Path) -> None:
    done = check(path.read_text(encoding="utf-8"))
    assert done == (LAYOUTS / path.name).read_text(encoding="utf-8")


def _scattered(text: str, places: list[tuple[int, str]]) -> str:
    """The text with comments put between its words, at places given as shares of a thousand."""
    starts = [token.start for token in tokenize(text)[0]]
    # Only where there is space already: a name and its bracket may not be parted.
    free = [s for s in starts if s and text[s - 1].isspace()] or [len(text)]
    for share, comment in sorted(places, reverse=True):
        at = free[share * len(free) // 1000]
        text = text[:at] + comment + text[at:]
    return text


_COMMENTS = st.sampled_from(
    [
        "% a\n",
        "\n% own line\n",
        "/* b */",
        "\n/* own\n   block */\n",
        " % c\n\n\n",
        "\n\n/* d */ % e\n",
    ]
)


@given(
    st.sampled_from(["rate", "conditionals", "congestion", "helpers", "long"]),
    st.lists(st.tuples(st.integers(0, 999), _COMMENTS), min_size=1, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_comments_anywhere_survive(name: str, places: list[tuple[int, str]]) -> None:
    text = next(path for path in CORPUS if path.stem == name).read_text(encoding="utf-8")
    check(_scattered(text, places))


def test_a_rule_stands_on_one_line_exactly_when_it_fits() -> None:
    head, body = "sent(X, M, Y) :-", "do(forward)"
    pad = "a" * (WIDTH_MAX - len(f"{head} @CS, {body}."))
    fits = f"law(l).\n{head} {pad}@CS, {body}.\n"
    assert format_law(fits) == fits
    assert format_law(fits.replace("aaa", "aaaa", 1)) == (
        f"law(l).\n{head}\n    a{pad}@CS,\n    {body}.\n"
    )


def test_what_the_author_chose_is_kept() -> None:
    text = "law(l).\ninitialCS([1e3, \"fire\", 1.50, 'two words']).\nquit :- \\+ a@CS, not(b@CS).\n"
    assert format_law(text) == text
    assert format_law(text.replace("\n", "\r\n")) == text
    assert format_law("law('l'). quit :- 'a'@CS | b@CS.") == "law(l).\nquit :- a@CS ; b@CS.\n"


def test_a_very_deep_term_is_laid_out() -> None:
    deep = "f(aaaa, " * 990 + "a" + ")" * 990
    assert "f(aaaa, f(aaaa" in check(f"law(l). quit :- do(signal({deep})).")


def test_faulty_text_is_refused_with_its_errors() -> None:
    with pytest.raises(Faulty) as caught:
        format_law("law(l). quit :- a b.", "w.law")
    assert str(caught.value).startswith("w.law:1:19: error [syntax-operator]")


def test_a_law_that_layout_would_push_over_the_limit_is_refused() -> None:
    text = "law(l). quit:-'A@'@CS,b@CS."
    text = text.replace("@'", "a" * (1_000_001 - len(text)) + "'")
    assert len(text) == 1_000_000
    with pytest.raises(Faulty, match="laid out"):
        format_law(text)


def test_an_operand_that_is_broken_keeps_its_brackets() -> None:
    """Found by fuzzing: a comment breaks the term at its last list, inside `m*(Z/[L])`."""
    text = "law(l).\nquit :- p(Z, (m /**/ * (Z / [L]), Z)), p(a, b).\np(_, _).\n"
    once = format_law(text)
    assert "m * (Z / [" in once
    assert format_law(once) == once
