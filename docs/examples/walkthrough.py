"""Alice takes a letter from a governed space that two hosts share; every ruling is printed."""

import asyncio

import nomospace as ns
from nomospace import ANY, t
from nomospace.laws import path
from nomospace.node.views import Views
from nomospace_lab.testing.together import Together


async def main() -> None:
    """Wait for a letter on one host, write it on the other, and show who ruled on what."""
    law = ns.Law.load(path("mp"))
    async with Together(["train", "office"]) as hosts:  # two hosts of this process, over TCP
        await hosts.host("train").wait_engaged("office", timeout=10)
        post = {}
        for name, host in (("alice", "train"), ("bob", "office")):
            agent = await hosts.host(host).agent(name)
            await agent.adopt(law)
            post[name] = await agent.space("post", shared=True, law=law)
        letter = (t["from"]("bob@office"), t.to("alice@train"))
        waiting = asyncio.create_task(post["alice"].take(t.msg(ANY), *letter, timeout=10))
        await asyncio.sleep(0.5)  # so that she is seen to wait
        await post["bob"].out(t.msg("the offer stands"), *letter)
        print((await waiting)[0])
        for host, server in hosts.servers.items():
            for one in Views(server).rulings().rulings:
                if one.rule:
                    print(f"{host:7}{one.home:12}{one.rule}  {one.event.partition('[')[0]}…")


asyncio.run(main())
