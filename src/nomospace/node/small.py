"""Small things that parts beside a host's core keep in its store, and wait for.

`Host.keep_small` keeps one and goes on. Who must not answer before it counts waits here: until the
commit is on disk, also where a standby has it, and the host has the lease still.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import TYPE_CHECKING

from nomospace.host.changes import SmallKept
from nomospace.store.interface import Step

if TYPE_CHECKING:
    from nomospace.node.local import Host


async def keep_all(host: Host, bodies: Mapping[str, bytes]) -> None:
    """Keep things by their names in one commit; an empty one no more. They count afterwards.

    Raises `Closed`, and, with nothing done, why the store can take nothing now.
    """
    host._running()
    keeper = host._keeper
    if keeper is not None and keeper.trouble is not None:
        raise keeper.trouble
    for name, body in bodies.items():
        if body:
            host.small[name] = body
        else:
            host.small.pop(name, None)
    if keeper is not None:
        counts = host._loop.create_future()
        host.awaited.append((keeper.last + 1, counts))
        keeper.put(Step(tuple(starmap(SmallKept, bodies.items()))))
        await counts
