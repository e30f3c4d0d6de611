"""Small programs for the tests of the client: a host, agents on it, and what was reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from nomospace.client import Report, Space
from nomospace.node import Host
from nomospace_lab.testing.loop import run

T = TypeVar("T")


class Ward:
    """One host with a shared space `jobs` of the agent `ann`, and every report it made."""

    def __init__(self, host: Host, jobs: Space, reports: list[Report]) -> None:
        self.host = host
        self.jobs = jobs
        self.reports = reports

    async def jobs_of(self, name: str) -> Space:
        return await (await self.host.agent(name)).space("jobs", shared=True)


def in_ward(
    program: Callable[[Ward], Awaitable[T]],
    *,
    listener_timeout: float = 30.0,
    seconds_max: float = 3600,
) -> T:
    """Run a program on one host in virtual time."""

    async def main() -> T:
        reports: list[Report] = []
        host = Host(
            "ward", on_report=reports.append, listener_timeout=listener_timeout, epoch_us=10**15
        )
        async with host:
            ann = await host.agent("ann")
            return await program(Ward(host, await ann.space("jobs", shared=True), reports))

    return run(main(), seconds_max=seconds_max)
