"""A model that moves: its tuples, its membership, its reactions and its mail go along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import nomospace as ns
from nomospace.api.mcp import tools, words
from nomospace.api.mcp.member import ModelMember
from nomospace.client.laws import load_law
from nomospace.client.remote import connect
from tests.serving import ServedHost, serve

TALK = load_law("law(talk). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver).")


@pytest.mark.parametrize("known", [True, False])
def test_a_model_moves(known: bool) -> None:
    async def program() -> None:
        net = ns.Network()
        net.connect("ward", "icu")
        ward, icu = ServedHost("ward", network=net), ServedHost("icu", network=net)
        async with asyncio.timeout(120), ward, icu, serve(ward) as url, serve(icu) as other:
            await ward.wait_engaged("icu", timeout=60)
            if known:
                ward.addresses["icu"] = other.rpartition("/")[2]
            async with connect(url, on_report=lambda report: None) as far:
                agent = await far.agent("model")
                async with await ModelMember.join(agent, TALK) as member:
                    await script(member)

    async def script(member: ModelMember) -> None:
        async def call(name: str, **arguments: Any) -> words.ToolAnswer:
            return await tools.call(member, name, arguments)

        await call("write", space="jobs", fields=["mine", 1])
        await call("react", space="jobs", template=["alarm", "_"])
        moved = await call("move", host="icu")
        if not known:  # it is there, and the answer says that this server cannot follow
            assert moved.data["code"] == "client.moved-on"
            assert moved.error
            return
        assert moved.text == "model@ward is at icu now."
        here = await call("look", what="agents")
        assert here.data["agents"][-1] == {
            "agent": "model@ward",
            "host": "icu",
            "status": "connected",
        }
        assert (await call("take", space="jobs", template=["mine", "_"])).data["tuple"]
        await call("write", space="jobs", fields=["alarm", "fire"])
        assert (await call("events", wait_s=60)).data["events"]
        assert not (await call("send", message="hum", to=["model@ward"])).error
        assert (await call("inbox", wait_s=60)).data["messages"]

    asyncio.run(program())
