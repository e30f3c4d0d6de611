"""Neighbours find each other by multicast, on the loopback."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import msgspec
import pytest

from nomospace.node import discover as module
from nomospace.node.discover import Announcement, CannotDiscover, Discovery
from tests.ports import free_port
from tests.sites import run_real, site, until

LOOPBACK = "127.0.0.1"


def discovery(name: str, port: int, found: list[tuple[str, str]], **more: Any) -> Discovery:
    more = {"address": f"{LOOPBACK}:1", "authority": "", "announce_s": 0.05, **more}
    return Discovery(
        name,
        more.pop("address"),
        port=port,
        interface=LOOPBACK,
        on_found=lambda name, address: found.append((name, address)),
        **more,
    )


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_neighbours_find_each_other_and_nobody_else(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def program() -> None:
        port = free_port()
        seen: dict[str, list[tuple[str, str]]] = {"a": [], "b": [], "c": []}
        a = discovery("a", port, seen["a"], address=":7411")
        b = discovery("b", port, seen["b"], address="127.0.0.2:7412")
        c = discovery("c", port, seen["c"], authority="another")
        for each in (a, b, c):
            await each.start()
        rogue = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        rogue.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
        said = [
            b"",
            b"garbage",
            b"x" * 5_000,
            msgspec.msgpack.encode(Announcement(99, "x", "127.0.0.1:1", "")),
            msgspec.msgpack.encode(Announcement(1, "x", "nowhere", "")),
            msgspec.msgpack.encode(Announcement(1, "x" * 900, "127.0.0.1:1", "")),
        ]
        for data in said:
            rogue.sendto(data, (module.GROUP, port))
        rogue.close()
        await until(lambda: bool(seen["a"] and seen["b"]))
        await asyncio.sleep(0.3)
        # Told once, though it announced itself many times; a machine left out is the one seen.
        assert seen == {"a": [("b", "127.0.0.2:7412")], "b": [("a", "127.0.0.1:7411")], "c": []}
        monkeypatch.setattr(module, "AGAIN_S", 0.0)
        await until(lambda: len(seen["a"]) > 1)
        for each in (a, b, c):
            await each.stop()

    run_real(program(), loop=loop)


def test_hosts_that_found_each_other_are_linked() -> None:
    async def program() -> None:
        port = free_port()
        async with site("a") as a, site("b") as b:
            found = [
                Discovery(
                    each.name,
                    each.address,
                    authority="",
                    port=port,
                    interface=LOOPBACK,
                    on_found=lambda name, address, each=each: each.links.hint(address),  # type: ignore[misc]
                    announce_s=0.1,
                )
                for each in (a, b)
            ]
            for one in found:
                await one.start()
            await until(lambda: a.links.neighbours() == ("b",) and b.links.neighbours() == ("a",))
            for one in found:
                await one.stop()

    run_real(program())


def test_without_multicast_it_says_what_to_do() -> None:
    async def program() -> None:
        found = discovery("a", free_port(), [], group="10.0.0.3")
        with pytest.raises(CannotDiscover, match="name the hosts with --join"):
            await found.start()
        await found.stop()

    run_real(program())


def test_a_network_that_is_down_is_noted_once() -> None:
    notes: list[str] = []
    found = discovery("a", 1, [], on_note=lambda what, **facts: notes.append(what))
    for _ in range(3):
        found.error_received(OSError("network is down"))
    assert notes == ["announcement-failed"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOUND_MAX", 10)

    async def program() -> None:
        seen: list[tuple[str, str]] = []
        found = discovery("a", free_port(), seen)
        await found.start()
        for n in range(50):
            data = msgspec.msgpack.encode(Announcement(1, f"x{n}", "127.0.0.1:1", ""))
            found.datagram_received(data, (LOOPBACK, 1))
        assert len(seen) == 50
        assert len(found._found) == 10
        await found.stop()

    run_real(program())
