"""Scenario files: what is read from a line, and which laws a file is about."""

from pathlib import Path

import pytest

from nomospace.scenarios.lawtest import NoScenarios, find, run_files
from nomospace.scenarios.scenario import Act, Expect, Item, Wait, read_scenarios
from nomospace.terms import Faulty, Source, show


def item(text: str) -> Item:
    (story,) = read_scenarios(Source(f'agents a@w b@w\nscenario "s"\n{text}'))
    return story.items[-1]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("a@w sends f(x, to) to b@w", "sent('a@w',f(x,to),'b@w')"),
        ("a@w sends to to b@w", "sent('a@w',to,'b@w')"),
        ("a@w sends '50%' to b@w   % a remark", "sent('a@w','50%','b@w')"),
        ("a@w sends hi to [b@w, 'odd id']", "sent('a@w',hi,['b@w','odd id'])"),
        ("a@w sends hi to ward-3.x", "sent('a@w',hi,'ward-3.x')"),
        ("a@w receives hi from z@w", "arrived('z@w',hi,'a@w')"),
        (
            "a@w certified by i as r(1), s",
            "certified([issuer(i),subject('a@w'),attributes([r(1),s])])",
        ),
        ("a@w revoked by i as r about b@w", "revoked([issuer(i),subject('b@w'),attributes([r])])"),
        ("a@w moves from s1 to s2", "moved(s1,s2)"),
        (
            "event exception(forward(a,b,c), unreachable) at a@w",
            "exception(forward(a,b,c),unreachable)",
        ),
    ],
)
def test_what_agents_do_becomes_an_event(text: str, event: str) -> None:
    found = item(text)
    assert isinstance(found, Act)
    assert f"{found.kind}({','.join(map(show, found.args))})" == event


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("after 5 ms", 5_000),
        ("after 1.5 sec", 1_500_000),
        ("after 1 hour 30 min", 5_400_000_000),
        ("after 2 days", 172_800_000_000),
    ],
)
def test_times_are_written_in_units(text: str, micros: int) -> None:
    found = item(text)
    assert isinstance(found, Wait)
    assert found.micros == micros


def test_an_expectation_keeps_its_parts_apart() -> None:
    found = item("expect b@w gets f(from, X) from a@w")
    assert isinstance(found, Expect)
    assert (found.what, found.home, found.sender) == ("gets", "b@w", "a@w")
    assert show(found.pattern) == "f(from,_)"


@pytest.mark.parametrize("text", ["", "agents a@w", "% nothing\n"])
def test_a_file_without_a_scenario_is_an_error(text: str) -> None:
    with pytest.raises(Faulty, match="there is no scenario in this file"):
        read_scenarios(Source(text, "x.test"))


@pytest.mark.parametrize("text", ["'" * 9_001, "\\'" * 4_500, "X'" * 4_500, "(" * 5_000])
def test_odd_lines_are_refused_at_once(text: str) -> None:
    with pytest.raises(Faulty):
        read_scenarios(Source(f'agents a@w\nscenario "s"\na@w sends {text} to a@w', "x.test"))


def test_a_file_is_about_the_law_with_the_longest_name_that_it_begins_with(tmp_path: Path) -> None:
    for name in ("rate.law", "rate.law.py", "rate.strict.law"):
        (tmp_path / name).write_text("law(l).")
    tests = [tmp_path / name for name in ("rate.test", "rate.one.test", "rate.strict.x.test")]
    for path in tests:
        path.write_text('scenario "s"')
    found = {file.name: [law.name for law in laws] for file, laws in find([str(tmp_path)])}
    assert found == {
        "rate.test": ["rate.law", "rate.law.py"],
        "rate.one.test": ["rate.law", "rate.law.py"],
        "rate.strict.x.test": ["rate.strict.law"],
    }
    by_law = [file.name for file, _ in find([str(tmp_path / "rate.law")])]
    assert by_law == ["rate.one.test", "rate.test"]


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoScenarios, match=r"no \*\.test file in this folder"):
        find([str(tmp_path)])


def test_variables_are_bound_anew_under_each_law(tmp_path: Path) -> None:
    for name, extra in (("one", "a"), ("two", "b")):
        (tmp_path / f"{name}.law").write_text(
            f"law(l). sent(_, _, _) :- do(deliver(Self, {extra}, Self))."
        )
        (tmp_path / f"{name}.test").write_text(
            'agents x@w\nscenario "s"\nx@w sends go to x@w\nexpect x@w gets M\n'
            "x@w sends M to x@w\nexpect x@w gets M"
        )
    results, coverages = run_files([str(tmp_path)])
    assert [result.passed for result in results] == [True, True]
    assert [one.to_data()["goals_tried"] for one in coverages] == [1, 1]
