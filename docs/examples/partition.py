"""Two hosts share a space, lose contact, and meet again."""

import asyncio

import nomospace as ns


async def main() -> None:
    """Take a job across, work on alone, and hand the result over."""
    net = ns.Network()
    async with ns.Host("ward", network=net) as ward, ns.Host("icu", network=net) as icu:
        ann = await (await ward.agent("ann")).space("jobs", shared=True)
        bob = await (await icu.agent("bob")).space("jobs", shared=True)

        await ann.out("job", 17, to="bob@icu")  # icu is out of reach: ann holds it for bob
        net.connect(ward, icu)
        print("in contact:", await bob.take("job", int))  # it came with the engagement

        net.part(ward, icu)
        await ward.wait_parted("icu")
        await bob.out("done", 17)  # bob works on alone
        print("parted:    ", await ann.read_nowait("done", int, at="icu"))

        net.connect(ward, icu)
        print("together:  ", await ann.take("done", int))


asyncio.run(main())
