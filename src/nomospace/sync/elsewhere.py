"""What of the blocking face is elsewhere: hosts in other processes, and spaces behind fronts."""

from __future__ import annotations

from nomospace.client import fronts, remote
from nomospace.sync import Agent
from nomospace.sync.background import Blocking, HeldInBackground, gives, waits


class RemoteHost(HeldInBackground):
    """A host in another process, for `with`; see `nomospace.connect`. Made by `connect`."""

    _it: remote.RemoteHost
    ask = waits(remote.RemoteHost.ask)
    contact = waits(remote.RemoteHost.contact)
    engage = waits(remote.RemoteHost.engage)
    disengage = waits(remote.RemoteHost.disengage)
    drain = waits(remote.RemoteHost.drain)
    moved = waits(remote.RemoteHost.moved)

    agent = gives(remote.RemoteHost.agent, Agent)


class FrontSpace(Blocking):
    """A tuple space behind a front; see `nomospace.client.fronts.FrontSpace`."""

    __slots__ = ()

    _it: fronts.FrontSpace
    name: str
    out = waits(fronts.FrontSpace.out)
    take = waits(fronts.FrontSpace.take)
    read = waits(fronts.FrontSpace.read)
    take_nowait = waits(fronts.FrontSpace.take_nowait)
    read_nowait = waits(fronts.FrontSpace.read_nowait)
    take_all = waits(fronts.FrontSpace.take_all)
    read_all = waits(fronts.FrontSpace.read_all)
