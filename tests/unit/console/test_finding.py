"""The command box, and stories for those who may see them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nomospace.api.published import (
    CommunityView,
    HostView,
    Principal,
    RuleView,
    SpaceView,
    TopologyView,
)
from nomospace.calls.problems import NotAnOperator
from nomospace.console import stories
from nomospace.console.console import Console
from nomospace.console.finding import EACH_MAX, find
from nomospace.console.stage import (
    ConsoleAction,
    ConsolePlace,
    ConsolePlugin,
    FloorPerson,
    Stages,
    Ward,
)
from nomospace.console.stories import StoryAddress

LAW = "ab" * 32
RAIL = {
    "/spaces": ConsolePlace("Spaces", "", print),
    "/bench": ConsolePlace("Law bench", "", print),
    "/redrover": ConsolePlace("RedRover", "", print, group="games"),
}


class FakeViews:
    """What the command box looks through."""

    def topology(self) -> TopologyView:
        agents = tuple([f"ann{number}@ward" for number in range(20)])
        hosts = (HostView("ward", True, False, agents, 20), HostView("icu", False, True, (), 0))
        return TopologyView("ward", "", 1, 1, False, hosts)

    def spaces(self) -> tuple[SpaceView, ...]:
        return (SpaceView("jobs", "", True, (), 10_000, 0, 0, 0, ""),)

    def communities(self) -> tuple[CommunityView, ...]:
        return (CommunityView(LAW, "alarms", 3, 10, 0),)

    def rules(self, law: str) -> tuple[RuleView, ...]:
        assert law == LAW
        return (RuleView("R1", "sent", 1, "", 0, 2), RuleView("R12", "arrived", 3, "", 0, 4))


def fake() -> Console:
    service = SimpleNamespace(views=FakeViews(), operator=operator, ontologies=tuple)
    plugin = ConsolePlugin(
        floor=lambda: (
            Ward("icu", "Intensive care", (FloorPerson("ann3@ward", "Anna", "rogue"),)),
        ),
        actions=lambda: (ConsoleAction("Switch the rogue on", switch),),
    )
    found = SimpleNamespace(
        services={"ward": service}, service=service, name="ward", stages=Stages(plugin=plugin)
    )
    return cast(Console, found)


def operator(principal: Principal) -> None:
    if not principal.operator:
        raise NotAnOperator(proved=principal.name)


async def switch(frame: object) -> None:
    """What the demonstration does."""


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("jobs", [("space", "/spaces?space=jobs")]),
        ("intensive", [("host", "host/ward/icu")]),
        ("anna", [("agent", "agent/ward/ann3@ward")]),
        ("rover", [("game", "/redrover")]),
        ("make a", [("action", "/spaces?make=1")]),
        ("obligation", [("word", "words/ward/obligation")]),
        ("R1", [("rule", f"rule/ward/{LAW}:R1"), ("rule", f"rule/ward/{LAW}:R12")]),
        ("alarms", [("law", f"law/ward/{LAW}")]),
        (LAW[:6], [("law", f"law/ward/{LAW}")]),
        (" ann@ward#17 ", [("tuple", "tuple/ward/ann@ward%2317")]),
        ("(alarm, ?x)", [("template", "/spaces?template=%28alarm%2C%20%3Fx%29")]),
        ("123", [("ruling", "ruling/ward/123")]),
        ("bench", [("place", "/bench")]),
        ("no such thing", []),
    ],
)
def test_what_is_typed_leads_somewhere(text: str, hits: list[tuple[str, str]]) -> None:
    assert [(one.kind, str(one.to)) for one in find(fake(), text, RAIL)] == hits


def test_what_a_demonstration_does_is_found_by_its_words() -> None:
    action, agent = find(fake(), "rogue", RAIL)
    assert (action.kind, action.what) == ("action", "Switch the rogue on")
    assert isinstance(action.to, ConsoleAction)
    assert action.to.do is switch
    assert (agent.kind, agent.what) == ("agent", "ann3@ward")


def test_an_empty_box_shows_what_can_be_done() -> None:
    assert [one.kind for one in find(fake(), "", RAIL)] == [
        *["place", "place", "game"],
        *["action"] * 3,
    ]


def test_of_each_kind_there_are_a_few() -> None:
    found = find(fake(), "ann", RAIL)
    assert [one.kind for one in found] == ["agent"] * EACH_MAX


@pytest.mark.parametrize(
    ("kind", "is_operator", "said"),
    [("secret", True, "told"), ("secret", False, "needs"), ("nothing", True, "no such story")],
)
def test_stories_are_for_operators(
    monkeypatch: pytest.MonkeyPatch, kind: str, is_operator: bool, said: str
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(stories, "_tellers", {})
    monkeypatch.setattr(stories, "fault", lambda error: shown.append(f"needs: {error}"))
    monkeypatch.setattr(stories, "empty", lambda what, how: shown.append(what))

    @stories.story("secret", "Secret")
    def tell(frame: Any, host: str, id: str) -> None:
        shown.append("told")

    viewer = Principal("somebody", operator=is_operator)
    frame = cast(Any, SimpleNamespace(console=fake(), viewer=viewer))
    stories.tell(frame, StoryAddress(kind, "ward", "1"))
    assert len(shown) == 1
    assert said in shown[0]
