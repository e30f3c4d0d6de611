"""A mediator's whole process: `python -m tests.real.mediating ORDER`, told what to be as JSON.

It connects to a host, adopts the law, shows its certificate, and mediates until it is ended. All
it uses is the public API, as any mediator would.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import nomospace as ns
from nomospace.node.services.mediators import NatsMediator, SpaceMediator


async def mediate(order: dict[str, str]) -> None:
    """Mediate until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with ns.connect(order["url"], trust=order["trust"], token=order["token"]) as host:
        agent = await host.agent()
        law = ns.Law.load(order["law"])
        member = agent.membership(law)  # one that was killed is a member still
        if member is None:
            member = await agent.adopt(law)
            await member.present(order["certificate"].encode())
        space = await agent.space(order["space"], shared=True)
        mediator = (
            NatsMediator(member, space, order["nats"], key=order["key"].encode())
            if order["nats"]
            else SpaceMediator(member, space)
        )
        async with mediator:
            print("ready", flush=True)
            await ended.wait()


if __name__ == "__main__":
    asyncio.run(mediate(json.loads(sys.argv[1])))
