"""A refusal says its cause to operators, and to its agent what the law discloses: HTTP, MCP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import pytest
from mcp import Client, StdioServerParameters

from nomospace.law import load
from tests.real.hosts import RealHost, caller, end, play, start

LAW: Final = """law(gate{level}).
{disclose}
initialCS([]).

R1. sent(_, block, _) :- do(forward).
R2. arrived(_, block, _) :- do(+blocked), do(deliver).
R3. sent(_, say(_), _) :- not(blocked@CS), do(forward).
R4. arrived(_, _, _) :- do(deliver).
"""
CAUSE: Final = re.compile(r"Refused: rolf is blocked since \d\d:\d\d, by mira's `block` \(R2\)")
FACTS: Final = re.compile(r"mira|since|\d\d:\d\d")
"""What is of a control state: names, and when."""


async def by_http(host: RealHost, path: str, body: object = None) -> Any:
    """What the API of a host answers."""
    headers = {"authorization": f"Bearer {host.said['api_token']}"}
    data = None if body is None else json.dumps(body).encode()
    headers |= {} if data is None else {"content-type": "application/json"}
    asked = Request(f"{host.said['api']}{path}", data, headers)
    with await asyncio.to_thread(urlopen, asked, timeout=60) as answer:
        return json.load(answer)


async def by_mcp(host: RealHost, folder: Path, law: Path) -> tuple[str, str]:
    """What a model that is rolf is told when it speaks, and when it asks why."""
    url = f"nomos+plain://{host.address}"
    start = StdioServerParameters(
        command=sys.executable,
        args=f"-m nomospace.cli mcp --connect {url} --agent rolf --law {law}".split(),
        cwd=folder,
        env={"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]},  # where tests keep hosts' tokens
    )
    async with Client(start) as client:
        said = await client.call_tool("send", {"message": "say(hello)", "to": ["mira@ward"]})
        assert said.is_error
        data: dict[str, Any] = said.structured_content
        why = await client.call_tool("why", {"ruling": data["ruling"]})
        answers = [
            "".join(getattr(part, "text", "") for part in one.content) for one in (said, why)
        ]
        return answers[0], answers[1]


@pytest.mark.parametrize("level", ["rules", "all"])
def test_the_cause_is_told_to_whom_it_may_be(tmp_path: Path, level: str) -> None:
    disclose = "disclose(all)." if level == "all" else ""  # without a word it is the rules alone
    text = LAW.format(level=level, disclose=disclose)
    file = tmp_path / "gate.law"
    file.write_text(text)
    law = load(text, "gate.law")
    host = RealHost("ward", tmp_path, "--insecure", "--api", "127.0.0.1:0", "--store", "memory")
    start(host)

    async def program() -> None:
        async with caller(host, None) as near:
            mira, rolf = await near.agent("mira"), await near.agent("rolf")
            blocks = await mira.adopt(law)
            blocked = await rolf.adopt(law)
            await blocks.send("block", to="rolf@ward")
            async with asyncio.timeout(60):
                async for _ in blocked.inbox():
                    break
        path = f"/v1/agents/rolf@ward/communities/{law.hash}/send"
        told = await by_http(host, path, {"message": "say(hello)", "to": "mira@ward"})
        assert told["refused"]
        rulings = (await by_http(host, "/v1/rulings?limit=1000"))["rulings"]
        refused = next(one for one in rulings if one["refused"])
        why = await by_http(host, f"/v1/rulings/{refused['record']}/why")
        assert CAUSE.fullmatch(why["verdict"])
        story = await by_http(host, f"/v1/story?about=ward/{refused['record']}")
        assert CAUSE.fullmatch(story["steps"][-1]["verdict"])
        members = [told["verdict"], told["explanation"], *await by_mcp(host, tmp_path, file)]
        for words in members:
            if level == "all":
                assert CAUSE.search(words), words
            else:
                assert "R3" in words
                assert not FACTS.search(words.replace("mira@ward", "")), words

    try:
        play(program())
    finally:
        end(host)
