"""Names, and addresses of memberships: an agent may have several under a law, each with its own.

The first has the agent's id, the second of `nurse@ward` is `nurse~2@ward`. Laws see the address;
routing and all that concerns the agent itself go by its owner. In calls and in mail a membership is
named by its law's hash, with the same ending unless it is the first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from nomospace.errors import CallerError

NAME_MAX: Final = 200
"""The longest name of a space, a host or an agent, in characters."""
ADDRESS_CHARS_MAX: Final = 2 * NAME_MAX + 8
"""The most characters of an agent's id, of an address, and of what names a membership."""
NUMBER_MAX: Final = 999
"""The highest number of a membership under one law."""

_known: Final = lru_cache(maxsize=4_096)
"""Every message asks for the same few again and again. What others choose is bounded in length
before it comes here (`ADDRESS_CHARS_MAX`), as it is remembered."""
_ENDING: Final = re.compile(r"(.+)~([2-9]|[1-9][0-9]{1,2})", re.DOTALL)


class BadName(CallerError):
    """A name that no host, agent or space can have."""

    code = "client.bad-name"
    words = (
        f"{{value}} is no name of {{what}}; use 1 to {NAME_MAX} printable characters "
        "without spaces and without '@'"
    )
    what: str
    value: str


class NoSuchNumber(CallerError):
    """No membership under a law can have this number."""

    code = "law.no-such-number"
    words = "{number} is no number of a membership; give one from 1 to {limit}"
    number: int
    limit: int


class IsAnAddress(CallerError):
    """A name for a new agent that is the address of another one's membership."""

    code = "law.is-an-address"
    words = "{address} is an address of {owner}; call the agent otherwise, without ~ and a number"
    address: str
    owner: str


def check_name(what: str, value: object) -> str:
    """A name, checked.

    >>> check_name("a host", "ward-3")
    'ward-3'
    >>> check_name("a host", "ward 3")
    Traceback (most recent call last):
    nomospace.calls.addresses.BadName: 'ward 3' is no name of a host; ...
    """
    if not isinstance(value, str) or not 0 < len(value) <= NAME_MAX or not value.isprintable():
        raise BadName(what=what, value=repr(value)[:60])
    if "@" in value or any(character.isspace() for character in value):
        raise BadName(what=what, value=repr(value)[:60])
    return value


def is_agent_id(given: object) -> bool:
    """Whether something is an id, or an address, that an agent could have.

    >>> is_agent_id("nurse@ward"), is_agent_id("ward"), is_agent_id("a b@ward"), is_agent_id(7)
    (True, False, False, False)
    """
    if type(given) is not str or len(given) > ADDRESS_CHARS_MAX or not given.isprintable():
        return False
    name, _, domain = given.rpartition("@")
    fits = 0 < len(name) <= NAME_MAX + len("~999") and 0 < len(domain) <= NAME_MAX
    return fits and " " not in given


def address_of(agent: str, number: int) -> str:
    """The address of an agent's membership.

    >>> address_of("nurse@ward", 1), address_of("nurse@ward", 2)
    ('nurse@ward', 'nurse~2@ward')
    """
    if number == 1:
        return agent
    name, _, domain = agent.rpartition("@")
    return f"{name}~{number}@{domain}"


def new_address(agent: str, number: int) -> str:
    """The same for a number that somebody else has chosen; raises `NoSuchNumber`."""
    if not 1 <= number <= NUMBER_MAX:
        raise NoSuchNumber(number=number, limit=NUMBER_MAX)
    return address_of(agent, number)


@_known
def split_address(address: str) -> tuple[str, int]:
    """The agent that an address belongs to, and which of its memberships it is.

    >>> split_address("nurse~2@ward"), split_address("nurse@ward"), split_address("jobs")
    (('nurse@ward', 2), ('nurse@ward', 1), ('jobs', 1))
    """
    if "~" not in address:
        return address, 1
    name, _, domain = address.rpartition("@")
    found = _ENDING.fullmatch(name)
    return (f"{found[1]}@{domain}", int(found[2])) if found else (address, 1)


@_known
def owner_of(address: str) -> str:
    """The agent that an address belongs to."""
    return address if "~" not in address else split_address(address)[0]


def check_name_of(agent: str) -> None:
    """Raise `BadName`, or `IsAnAddress` (it is another's), for an id that no new agent can have."""
    check_name("an agent", agent.rpartition("@")[0])
    owner = owner_of(agent)
    if owner != agent:
        raise IsAnAddress(address=agent, owner=owner)


def key_of(law: str, number: int) -> str:
    """How calls and mail name a membership: by its law's hash, and its number.

    >>> key_of("ab12", 1), key_of("ab12", 3)
    ('ab12', 'ab12~3')
    """
    return law if number == 1 else f"{law}~{number}"


@_known
def key_at(law: str, address: str) -> str:
    """The same for the membership at an address."""
    return key_of(law, split_address(address)[1])


@_known
def split_key(key: str) -> tuple[str, int]:
    """The hash of the law of a membership, and its number.

    >>> split_key("ab12~3"), split_key("ab12")
    (('ab12', 3), ('ab12', 1))
    """
    if "~" not in key:
        return key, 1
    found = _ENDING.fullmatch(key)
    return (found[1], int(found[2])) if found else (key, 1)


@_known
def home_of(agent: str, key: str) -> tuple[str, str]:
    """The address of an agent's membership that a key names, and the hash of its law.

    >>> home_of("nurse@ward", "ab12~2")
    ('nurse~2@ward', 'ab12')
    """
    law, number = split_key(key)
    return address_of(agent, number), law
