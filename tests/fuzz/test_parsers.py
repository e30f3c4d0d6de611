"""A share of the garbage in every run; the rest by `python -m nomospace_lab.testing.fuzz`."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomospace_lab.testing import fuzz
from nomospace_lab.testing.fuzz import (
    LAWS,
    PYTHON_LAWS,
    TARGETS,
    TERMS,
    FuzzFailure,
    attempt,
    law_texts,
    main,
    python_texts,
    run_batch,
    shrink,
    term_texts,
)

INPUTS = 1_000


@pytest.mark.parametrize("first", range(0, INPUTS, 1_000))
def test_garbage_is_refused_in_words_and_in_time(first: int) -> None:
    tally = run_batch(2026, first, 1_000)
    assert not tally.failures, tally.failures[0]
    assert tally.inputs == 1_000
    assert tally.right > 50, "mutations must leave enough texts right, or only refusals are tried"


def test_the_texts_that_are_mutated_are_right() -> None:
    for target, texts in (("law", LAWS), ("term", TERMS), ("python", PYTHON_LAWS)):
        for text in texts:
            assert attempt(target, text)[0], text


def test_a_seed_gives_its_inputs_again_and_another_gives_others() -> None:
    for make in (law_texts, term_texts, python_texts):
        assert list(make(1, 50)) == list(make(1, 50))
        assert list(make(1, 50)) != list(make(2, 50))
        assert len(set(make(1, 50))) > 30


def test_a_parser_that_breaks_its_promise_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def careless(text: str) -> bool:
        if "((" in text:
            raise IndexError("list index out of range")
        return True

    monkeypatch.setitem(TARGETS, "term", careless)
    saved = tmp_path / "failing.txt"
    assert main(["--inputs", "600", "--save", str(saved)]) == 1
    assert saved.read_text("utf-8") == "(("
    assert "IndexError: list index out of range" in capsys.readouterr().out


def test_a_slow_parser_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "INPUT_MS_MAX", 0)
    assert "over the limit of 0 ms" in attempt("law", LAWS[0])[2]
    small = shrink(FuzzFailure("law", "quit.", "took 1 ms"))
    assert len(small.text) < len("quit.")


def test_a_clean_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--inputs", "90", "--seed", "3"]) == 0
    assert "90 of 90 inputs" in capsys.readouterr().out
