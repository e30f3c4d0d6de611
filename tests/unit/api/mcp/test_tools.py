"""The tools of a model: what they do, what they say when they cannot, and their limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

import nomospace as ns
from nomospace import laws
from nomospace.api.mcp import member as members, pages, tools, words
from nomospace.api.mcp.member import EVENTS, INBOX, ModelMember
from nomospace.client.laws import Law, load_law
from nomospace.terms import term

SB = load_law(laws.path("sb"))
TALK = load_law(
    "law(talk). initialCS([calm]). disclose(all). "
    "R1. sent(_, say(_), _) :- do(forward). % Anyone may say something.\n"
    "R2. arrived(_, _, _) :- do(deliver). "
    "R3. sent(_, later(_), _) :- do(imposeObligation(wake, 60)). % Later comes later."
)
BID = ["offerFor('carl@exchange',painting)", "fee(40)", "provider('NAME')", "contact(here)"]

Call = Callable[..., Coroutine[Any, Any, words.ToolAnswer]]


def play(
    script: Callable[[ModelMember, Call, ns.Host], Awaitable[None]],
    law: Law | None = None,
    claims: tuple[str, ...] = (),
) -> None:
    """Run a script as a model of an agent `model@exchange`."""

    async def program() -> None:
        async with asyncio.timeout(120), ns.Host("exchange") as host:
            agent = await host.agent("model")
            joined = await ModelMember.join(agent, law, claims=[term(text) for text in claims])
            async with joined as member:

                async def call(name: str, **arguments: Any) -> words.ToolAnswer:
                    return await tools.call(member, name, arguments)

                await script(member, call, host)

    asyncio.run(program())


def test_a_dict_comes_out_as_it_went_in() -> None:
    visit = {"room": 3, "of": ["ann", {"age": 70}], "term": "winter"}

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        await call("write", space="jobs", fields=["visit", visit])
        read = await call("read", space="jobs", template=["visit", {"room": 3}])
        assert read.data["tuples"][0]["fields"] == ["visit", visit]
        typed = await call("take", space="jobs", template=["visit", "{room: _:int}"])
        assert typed.data["tuple"]["fields"] == ["visit", visit]

    play(script)


def test_tuples() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        wrote = await call("write", space="jobs", fields=["job", 17, "room(3)", "'two words'"])
        assert wrote.text == "Written to jobs: [job, 17, room(3), 'two words']"
        await call("write", space="jobs", fields=["job", "18", "room(4)", True])
        read = await call("read", space="jobs", template=["job", "_:int", "room(_)", "_"], limit=1)
        assert read.data["tuples"] == [
            {
                "fields": ["job", "17", "room(3)", "'two words'"],
                "id": "model@exchange#1",
                "holder": "model@exchange",
            }
        ]
        assert read.data["more"] == 1
        assert read.text.endswith("and 1 more")
        took = await call("take", space="jobs", template=["job", "_:18..20", "X", "_"])
        assert took.data["tuple"]["fields"] == ["job", "18", "room(4)", "true"]
        none = await call("take", space="jobs", template=["job", "_:18..20", "X", "_"])
        assert (none.data, none.error) == ({"tuple": None}, False)
        late = await call("read", space="jobs", template=["never"], wait_s=0.01)
        assert late.text == "Nothing in jobs matches, and nothing came within 0.01 s."

    play(script)


def test_a_take_waits_for_others() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        jobs = await (await host.agent("nurse")).space("jobs", shared=True)
        taking = asyncio.create_task(call("take", space="jobs", template=["job", "_"], wait_s=60))
        await asyncio.sleep(0.01)
        await jobs.out("job", 17)
        assert (await taking).data["tuple"]["id"] == "nurse@exchange#1"

    play(script)


def test_a_bid_is_refused_explained_and_made() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        forged = [field.replace("NAME", "other@exchange") for field in BID]
        refused = await call("write", space="market", fields=forged)
        assert refused.error
        assert refused.data["code"] == "law.refused"
        assert refused.text.startswith("Law sb refuses this, so nothing was done (ruling 2).")
        assert "% A provider may bid in its own name." in refused.text
        assert "failed  T = [offerFor(_, _), fee(_), provider(P), contact(_)]" in refused.text
        why = await call("why")
        assert not why.error
        assert "other@exchange" in why.data["asked"]
        assert refused.text in why.text
        own = [field.replace("NAME", "model@exchange") for field in BID]
        assert not (await call("write", space="market", fields=own)).error
        first = await call("why", ruling=1)
        assert first.data["rule"] == "R8"
        unknown = await call("why", ruling=9)
        assert unknown.text == "there is no ruling 9 here; there are 1 to 2"
        for way in ("read", "react"):  # one's own bids are the client's to see, and no one else's
            assert (await call(way, space="market", template=["offerFor(_,_)"] + ["_"] * 3)).error

    play(script, SB, ("serviceProvider",))


def test_messages() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        told: list[str] = []

        async def news(page: str) -> None:
            told.append(page)

        member.news = news
        assert (await call("inbox")).text == "No messages yet."
        sent = await call("send", message="say(hello)", to=["model@exchange"])
        assert sent.text == "Sent. Ruling 2: forwarded by R1."
        await call("send", message="say(again)", to=["model@exchange", "model@exchange"])
        page = await pages.read(member, INBOX)
        got = await call("inbox", wait_s=60)
        assert got.data["messages"][0] == {"from": "model@exchange", "message": "say(hello)"}
        assert told == [INBOX]  # once, until the model looks
        assert page is not None
        held = await call("send", message="later(on)", to=["model@exchange"])
        assert (held.error, held.data["held"]) == (False, True)
        assert held.text.startswith("Law talk holds this back for now (ruling 4).")
        refused = await call("send", message="shout(x)", to=["model@exchange"])
        assert refused.error
        assert "It lets pass:\nR1: Anyone may say something." in refused.text
        state = await pages.read(member, pages.STATE)
        assert state is not None
        assert "Your control state is [calm]" in state
        assert re.search(r"You owe wake (in \d+ (s|min|h)|now)\.", state)
        assert "imposeObligation(wake,60)" in state  # the law discloses all

    play(script, TALK)


def test_reactions() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        told: list[str] = []

        async def news(page: str) -> None:
            told.append(page)

        member.news = news
        watched = await call("react", space="jobs", template=["alarm", "_"])
        assert watched.data == {"reaction": "r1"}
        spaces = await pages.read(member, pages.SPACES)
        assert spaces is not None
        assert "- jobs, shared, under no law; r1 watches [alarm, _]" in spaces
        for kind in ("fire", "smoke"):
            await call("write", space="jobs", fields=["alarm", kind])
        await _until(lambda: len(member.events) == 2)
        assert told == [EVENTS]
        shown = await pages.read(member, EVENTS)
        assert shown is not None
        assert "r1 saw in jobs: [alarm, smoke]" in shown
        got = await call("events", limit=1)
        assert got.data["events"][0]["tuple"]["fields"] == ["alarm", "fire"]
        assert (got.data["more"], got.data["lost"]) == (1, 0)
        assert got.text == "1 event\n- r1 saw in jobs: [alarm, fire]\nand 1 more"
        await call("unreact", reaction="r1")
        again = await call("unreact", reaction="r1")
        assert again.text == "there is no reaction 'r1'; there are: none"
        await call("events")
        await call("react", space="jobs", template=["alarm", "_"], mode="once")
        assert len((await call("events", wait_s=60)).data["events"]) == 1
        assert told == [EVENTS, EVENTS]

    play(script)


def test_old_firings_are_forgotten_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "FIRINGS_MAX", 3)

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        await call("react", space="jobs", template=["n", "_"])
        for n in range(5):
            await call("write", space="jobs", fields=["n", n])
        await _until(lambda: member.lost == 2)
        got = await call("events")
        assert [one["tuple"]["fields"][1] for one in got.data["events"]] == ["2", "3", "4"]
        assert got.data["lost"] == 2
        assert (await call("events")).data["lost"] == 0

    play(script)


def test_letters_past_the_limit_wait_in_the_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "LETTERS_MAX", 2)

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        for n in range(5):
            await call("send", message=f"say({n})", to=["model@exchange"])
        await asyncio.sleep(0.05)
        assert len(member.letters) == 2
        got: list[str] = []
        while len(got) < 5:
            got += [one["message"] for one in (await call("inbox", wait_s=60)).data["messages"]]
        assert got == [f"say({n})" for n in range(5)]

    play(script, TALK)


def test_answers_have_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "ANSWER_CHARS_MAX", 100)

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        await call("react", space="jobs", template=["n", "_"])
        for n in range(3):
            await call("write", space="jobs", fields=["n", f"'{n} {'x' * 60}'"])
        await _until(lambda: len(member.events) == 3)
        read = await call("read", space="jobs", template=["n", "_"])
        assert (len(read.data["tuples"]), read.data["more"]) == (1, 2)
        for left in (2, 1, 0):  # what does not fit is for the next answer, and is not lost
            got = await call("events")
            assert (len(got.data["events"]), got.data["more"]) == (1, left)

    play(script)


def test_the_reasons_are_told_however_long_the_message_was() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        refused = await call("write", space="market", fields=[f"'{'x' * 20_000}'"])
        assert refused.error
        assert len(refused.text) < words.STORY_CHARS_MAX
        assert "% A provider may bid in its own name." in refused.text

    play(script, SB)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("fly", {}, "There is no tool 'fly'; there are write, read"),
        ("write", {"space": "jobs"}, "missing required field `fields`"),
        ("write", {"space": "jobs", "fields": ["Job"]}, "write 'Job' in quotes"),
        ("write", {"space": "a b", "fields": ["job"]}, "'a b' is no name of a space"),
        ("write", {"space": "jobs", "fields": ["x" * 70_000]}, "length <= 65536"),
        ("read", {"space": "jobs", "template": ["_:itn"]}, "did you mean int?"),
        ("take", {"space": "jobs", "template": ["_"], "wait_s": 61}, "<= 60.0"),
        ("read", {"space": "jobs", "template": []}, "length >= 1"),
        ("why", {}, "there is no ruling 0 here; none was told yet"),
        ("send", {"message": "hum", "to": ["a@b"]}, "send needs a law"),
        ("inbox", {}, "inbox needs a law"),
        ("move", {"host": "ward-7"}, "cannot move to 'ward-7' by itself"),
        ("look", {"what": "stars"}, "Invalid enum value 'stars'"),
    ],
)
def test_mistakes_are_answers(name: str, arguments: dict[str, Any], says: str) -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        answer = await call(name, **arguments)
        assert answer.error
        assert says in answer.text

    play(script)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "SPACES_MAX", 2)
    monkeypatch.setattr(members, "REACTIONS_MAX", 1)

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        assert not (await call("react", space="one", template=["_"])).error
        full = await call("react", space="one", template=["_"])
        assert full.text == "1 reactions are the most there may be; end one with unreact"
        assert not (await call("write", space="two", fields=["x"])).error
        assert (await call("write", space="three", fields=["x"])).data["code"] == "mcp.too-many"
        assert not (await call("write", space="two", fields=["x"])).error

    play(script)


def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "CALL_S", 0.01)

    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        async def silent(*_: object, **__: object) -> None:
            await asyncio.sleep(5)

        monkeypatch.setattr(member, "space", silent)
        answer = await call("write", space="jobs", fields=["x"])
        assert answer.data["code"] == "mcp.no-answer"
        assert answer.text.startswith("write to jobs: no answer within 0.01 s.")

    play(script)


def test_who_is_there() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        await call("write", space="jobs", fields=["x"])
        await host.agent("nurse")
        agents = await call("look", what="agents")
        assert [row["agent"] for row in agents.data["agents"]] == [
            "model@exchange",
            "nurse@exchange",
        ]
        assert (await call("look", what="hosts")).data == {
            "hosts": [{"host": "exchange", "status": "connected"}]
        }
        (space,) = (await call("look", what="spaces")).data["spaces"]
        assert (space["space"], space["agent"]) == ("jobs", "model@exchange")

    play(script)


def test_the_law_is_there_to_read() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        text = await pages.read(member, pages.LAW)
        assert text == f"% law sb, sha256:{SB.hash}\n{laws.text('sb')}"
        state = await pages.read(member, pages.STATE)
        assert state is not None
        assert "serviceProvider" not in state  # law SB discloses its rules and no state
        assert await pages.read(member, "nomospace://secrets") is None
        for page in pages.PAGES:
            assert await pages.read(member, page) is not None

    play(script, SB, ("serviceProvider",))


def test_an_agent_that_begins_again_stays_a_member() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        again = await ModelMember.join(member.agent, SB)
        own = [field.replace("NAME", "model@exchange") for field in BID]
        done = await tools.call(again, "write", {"space": "market", "fields": own})
        assert not done.error
        assert not again.rulings

    play(script, SB, ("serviceProvider",))


@pytest.mark.parametrize("name", tools.TOOLS)
def test_a_tool_says_what_it_takes(name: str) -> None:
    tool = tools.TOOLS[name]
    schema = tool.schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "$ref" not in str(schema)
    assert 10 < len(tool.about) < 500


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


def test_several_tuples_may_answer_together() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        car, template = "object('Car',c1,[])", ["_:Insurance", "_:Finance"]
        await call("write", space="sales", fields=[car, "object('Insurance',i1,[])"])
        await call("write", space="sales", fields=["loan", car, "object('Finance',f1,[])"])
        assert (await call("read", space="sales", template=template)).data["tuples"] == []
        read = await call("read", space="sales", template=template, together=True)
        (found,) = read.data["tuples"]
        assert found["why"] == "model@exchange#1 and model@exchange#2 share Car c1"
        taken = await call("take", space="sales", template=template, key="Car", wait_s=60)
        assert taken.data["tuple"]["fields"] == found["fields"]
        assert (await call("read", space="sales", template=["_", "_"])).data["tuples"] == []

    play(script)


def test_one_receiver_may_be_a_string() -> None:
    async def script(member: ModelMember, call: Call, host: ns.Host) -> None:
        for to in ("model@exchange", ["model@exchange"]):
            assert not (await call("send", message="say(hello)", to=to)).error
        got = await call("inbox", wait_s=60, limit=2)
        assert [one["message"] for one in got.data["messages"]] == ["say(hello)"] * 2

    play(script, TALK)
