"""Where an agent finds a controller: a host that a controller service knows of.

The answer is a hint. Whoever connects checks the host's certificate, and other members' controllers
check it under the law's `cAuthority`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from nomospace.client.http import TIMEOUT_S, BadAnswer, fetch
from nomospace.errors import Unavailable

if TYPE_CHECKING:  # a client has no compiler
    from nomospace.law import CompiledLaw


class NoController(Unavailable):
    """A controller service knows no host for a law."""

    code = "client.no-controller"
    words = (
        "{url} knows no host whose controllers may serve law {law:.12}; "
        "let one register that its cAuthority has certified"
    )
    url: str
    law: str


class ControllerHost(msgspec.Struct, frozen=True):
    """A host that offers controllers, at `host:port`; `load` is 0 for idle and 1 for full."""

    name: str
    address: str
    domain: str = ""
    load: float = 0.0


async def find_controllers(
    url: str,
    law: CompiledLaw,
    *,
    near: str = "",
    limit: int = 10,
    authority: str | None = None,
    timeout: float = TIMEOUT_S,
) -> list[ControllerHost]:
    """Hosts for an agent that wants to adopt a law, the best first; raises `NoController`.

    `near` is a domain: hosts that share more of it come first, then those that are less busy. What
    a law demands of its controllers (`cAuthority`) is asked for.
    """
    tree = getattr(law, "tree", None)
    query = {
        "law": law.hash,
        "authority": getattr(tree, "controller_authority", None) or "",
        "near": near,
        "limit": str(limit),
    }
    asked = f"{url.rstrip('/')}/controllers?{urlencode(query)}"
    answer = await fetch(asked, authority=authority, timeout=timeout)
    try:
        found = msgspec.json.decode(answer.body, type=list[ControllerHost])
    except (msgspec.DecodeError, ValueError) as error:
        raise BadAnswer(url=url, why=f"no list of hosts ({error})") from None
    if not found:
        raise NoController(url=url, law=law.hash)
    return found


async def find_controller(
    url: str,
    law: CompiledLaw,
    *,
    near: str = "",
    authority: str | None = None,
    timeout: float = TIMEOUT_S,
) -> ControllerHost:
    """The best host for an agent that wants to adopt a law; see `find_controllers`."""
    found = await find_controllers(
        url, law, near=near, limit=1, authority=authority, timeout=timeout
    )
    return found[0]
