"""A model with a budget over MCP, its manager, and a host that is killed in the middle."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client, StdioServerParameters

import nomospace as ns

LAW = Path(__file__).with_name("budget.law")
NOMOSPACE = [sys.executable, "-m", "nomospace.cli"]


def start(store: str, listen: str) -> tuple[subprocess.Popen[bytes], str]:
    """A host in a process of its own, and where it is."""
    options = ["--insecure", "--store", store, "--listen", listen, "--json"]
    host = subprocess.Popen([*NOMOSPACE, "host", "run", "desk", *options], stdout=subprocess.PIPE)
    assert host.stdout is not None
    return host, json.loads(host.stdout.readline())["url"]


async def send(model: Client, message: str, to: str) -> str:
    """What the model's tool says: `done`, or the reason of the law."""
    told = await model.call_tool("send", {"message": message, "to": to})
    text = told.content[0].text if told.content else ""
    print(f"{message} to {to}: {'refused' if told.is_error else 'done'}")
    return text if told.is_error else "done"


async def first(letters: AsyncIterator[Any], count: int) -> list[str]:
    """The next letters of an inbox."""
    return [str((await anext(letters)).message) for _ in range(count)]


async def story(store: str) -> None:
    """Spend, ask, be approved, buy; whatever ends in between."""
    host, url = start(store, "127.0.0.1:0")
    words = [*NOMOSPACE[1:], "mcp", "--agent", "model", "--law", str(LAW), "--connect", url]
    server = StdioServerParameters(command=NOMOSPACE[0], args=words, env=dict(os.environ))
    law = ns.Law.load(str(LAW))
    try:
        async with ns.connect(url) as desk:
            boss = await (await desk.agent("boss")).adopt(law, "manager")
            shop = await (await desk.agent("shop")).adopt(law)
            async with Client(server) as model:
                assert await send(model, "spend(60, paper)", "shop@desk") == "done"
                assert "Up to 100 a day" in await send(model, "spend(60, ink)", "shop@desk")
                assert await send(model, "buy(500, desk)", "shop@desk") != "done"
                assert await send(model, "approve(500, desk)", "model@desk") != "done"
                assert await send(model, "ask(500, desk)", "boss@desk") == "done"
            letter = await anext(boss.inbox())
            host.kill()
            host.communicate()
            print("the host is killed, and started again")
            host, _ = start(store, url.rpartition("/")[2])
            await boss.send(ns.t.approve(*letter.message.args), to=letter.sender)
            async with Client(server) as model:  # the same agent, with what it has left
                assert await send(model, "spend(60, ink)", "shop@desk") != "done"
                assert await send(model, "buy(500, desk)", "shop@desk") == "done"
                assert await send(model, "buy(500, desk)", "shop@desk") != "done"
            print("the shop has got", await first(shop.inbox(), 2))
    finally:
        host.terminate()
        host.communicate(timeout=60)


with TemporaryDirectory() as folder:
    asyncio.run(story(f"{folder}/desk.db"))
