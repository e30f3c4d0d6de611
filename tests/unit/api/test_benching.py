"""A law that is being written, over HTTP: the words of `nomospace law check`, and its hash."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from nomospace.api.benching import (
    DRAFT_CHARS_MAX,
    DraftTooLong,
    check_law,
    difference,
    lay_out,
    recorded_events,
)
from nomospace.cli import main
from nomospace.law import load
from nomospace.node.working import Workers
from nomospace.scenarios.lawrun import Run
from nomospace.terms import Faulty
from tests.unit.api.web import Web, on_the_web

T = TypeVar("T")

GOOD = "law(quota). initialCS([slot]). R1. sent(X,M,Y) :- slot@CS, do(-slot), do(forward)."
BAD = "law(quota).\nR1. sent(X, M, Y) :- do(forwrad).\nR2. sent(X, M, Y) :- N > 1, do(forward).\n"


def run(ask: Callable[[Workers], Coroutine[Any, Any, T]]) -> T:
    """Ask a worker of this one test."""

    async def asking() -> T:
        work = Workers()
        try:
            return await ask(work)
        finally:
            await work.close()

    return asyncio.run(asking())


def test_findings_have_the_words_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(lambda work: check_law(work, BAD))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "draft.law").write_text(BAD, "utf-8")
    main(["law", "check", "draft.law"])
    said = capsys.readouterr().out
    assert (found.errors, found.hash) == (2, "")
    assert said.startswith("\n".join(one.text for one in found.findings))
    first = found.findings[0]
    assert (first.line, BAD[first.start : first.end]) == (2, "forwrad")


def test_both_languages_are_checked_and_have_their_hash() -> None:
    assert run(lambda work: check_law(work, GOOD)).hash == load(GOOD).hash
    python = 'law = Law("open")\n\n@law.sent(M, to=Y)\ndef all_pass(cs):\n    do(forward)\n'
    found = run(lambda work: check_law(work, python, "python"))
    assert (found.name, found.errors, found.rules) == ("open", 0, 1)
    assert run(lambda work: check_law(work, python)).errors > 0


def test_drafts_are_laid_out_and_compared() -> None:
    done = run(lambda work: lay_out(work, GOOD))
    assert "R1. sent(X, M, Y) :- slot@CS, do(-slot), do(forward).\n" in done
    assert load(done).hash == load(GOOD).hash
    other = GOOD.replace("slot@CS, ", "")
    said = run(lambda work: difference(work, (GOOD, "law"), (other, "law")))
    assert "R1" in said
    assert "slot@CS" in said
    with pytest.raises(Faulty):
        run(lambda work: difference(work, (GOOD, "law"), (BAD, "law")))


def test_a_text_that_is_too_long_says_what_reads_it() -> None:
    for asked in (check_law, lay_out):
        with pytest.raises(DraftTooLong, match="nomospace law check"):
            run(lambda work, asked=asked: asked(work, "%" * (DRAFT_CHARS_MAX + 1)))  # type: ignore[misc]


def test_what_members_did_last_is_a_scenario_to_try_a_law_on() -> None:
    async def work(web: Web) -> None:
        host = web.server.host
        ann, bob = await host.agent("ann"), await host.agent("bob")
        law = load(GOOD + " R2. arrived(_, _, _) :- do(deliver).")
        await bob.adopt(law)
        member = await ann.adopt(law)
        await member.send("hi('<b>')", to="bob@ward")
        await member.send("again", to="bob@ward")
        text = await recorded_events(web.service.views, law.hash)
        lines = [json.loads(line) for line in text.splitlines()]
        assert lines[0] == {"home": "ann@ward", "control_state": []}
        assert [one["message"] for one in lines[1:]] == ["hi('<b>')", "again"]
        assert (lines[1]["at"], lines[1]["to"]) == (0, "bob@ward")
        run = Run(law)
        told = list(run.rows([line.encode() for line in text.splitlines()], "events"))
        assert [one["rule"] for one in told] == [None, None], "its slot was gone by then"
        assert (await recorded_events(web.service.views, law.hash, most=1)).count("message") == 1

    on_the_web(work)


def test_a_draft_is_checked_over_http() -> None:
    async def work(web: Web) -> None:
        told = (await web("POST", "/v1/laws/check", {"text": BAD})).json()
        assert told["errors"] == 2
        assert told["findings"][0]["code"] == "unknown-operation"
        slip = await web("POST", "/v1/laws/check", {"text": BAD, "language": "cobol"})
        assert slip.status_code == 422

    on_the_web(work)
