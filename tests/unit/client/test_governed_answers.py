"""Answers of a law that no program can read: they are mail, and nothing breaks."""

from __future__ import annotations

import asyncio

import pytest

import nomospace as ns
from nomospace import ANY, t

ODD = ns.Law.load("""
law(odd).
R1. sent(_, _, _) :- do(forward).
R2. arrived(S, reacted(P, _), Y) :- do(deliver(S, reacted(P, oops), Y)).
R3. arrived(_, _, _) :- do(deliver).
""")


@pytest.mark.parametrize("strength", ["weak", "strong"])
def test_a_firing_that_shows_no_tuple_is_mail(strength: str) -> None:
    async def program() -> None:
        fired: list[object] = []

        def _heard(*heard: object) -> None:
            fired.append(heard)

        async with ns.Host("ward") as host:
            ann = await host.agent("ann")
            member = await ann.adopt(ODD)
            jobs = await ann.space("jobs", shared=True, law=ODD)
            if strength == "strong":
                strong = jobs.react(("job", ANY), _heard, strength="strong", at="ward")
                await strong.wait_registered()
            else:
                weak = jobs.react(("job", ANY), _heard, at="ward")
                await weak.wait_registered()
            await jobs.out("job", 17)
            async with asyncio.timeout(120):
                letter = await anext(member.inbox())
        assert letter.sender == "jobs"
        assert letter.message == t.reacted(("job", t.formal("any")), "oops")
        assert fired == []

    asyncio.run(program())
