"""Sockets that listen: all addresses of a name."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import TypeAlias

AddressInfo: TypeAlias = tuple[int, int, int, str, tuple[object, ...]]
"""What `getaddrinfo` gives."""


def bind_all(found: Iterable[AddressInfo], *, several: bool) -> list[socket.socket]:
    """All addresses of a name, each once; only the first unless there may be `several`."""
    places = list(dict.fromkeys((family, place) for family, _, _, _, place in found))
    sockets: list[socket.socket] = []
    try:
        for family, place in places[: None if several else 1]:
            sockets.append(_bound(family, place))
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _bound(family: int, place: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(place)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
