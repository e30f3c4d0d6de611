"""What one agent, and one community, may have of a host.

A host serves many who do not know each other. Each may have so much of whatever can grow: past that
it is told so with a code of its own, and nobody else notices. Who runs the host sets the shares
(`[limits]` in its configuration). They are wide: a program that is well keeps far from them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from nomospace.errors import LimitReached
from nomospace.law import CompiledLaw
from nomospace.space import Record
from nomospace.terms.encoding import encode
from nomospace.terms.features import Fields
from nomospace.terms.tuples import SHORT
from nomospace.terms.values import Compound, parts_of, weight

CHECK_EVERY: Final = 256
"""An agent's tuples are counted each time that it has written so many more, and at large ones."""
LARGE: Final = 4_096
"""So many bytes are a large tuple."""
FEW_FIELDS: Final = 4
"""Of so many fields, when they are numbers and short texts, none is looked at twice."""
SAMPLED: Final = 64
"""Of so many tuples the bytes are added up, to tell how many all have."""
SAMPLED_BYTES: Final = 1 << 18
"""So many bytes of them are gone through for that, at most: about 2 ms."""
MOVED_BYTES: Final = 1 << 21
"""So many bytes of tuples one step moves from one space to another, or one tuple."""


def is_large(fields: Fields) -> bool:
    """Whether a tuple is a large one.

    >>> is_large(("job", 17)), is_large(("job", "x" * 5_000))
    (False, True)
    """
    if len(fields) <= FEW_FIELDS:
        for field in fields:
            if type(field) is str:
                if len(field) > SHORT:
                    break
            elif type(field) is not int:
                break
        else:
            return False
    for field in fields:  # most large ones are seen to be so at once
        if (type(field) is str or type(field) is tuple or type(field) is bytes) and (
            len(field) > LARGE
        ):
            return True
    return weight(fields) > LARGE


def few_bytes(records: list[Record]) -> list[Record]:
    """The first of some tuples, as many as one step moves (`MOVED_BYTES`), and one at least."""
    size, room = 0, [SAMPLED_BYTES]
    for at, record in enumerate(records, 1):
        size += bytes_of(record.fields, room)
        if size >= MOVED_BYTES:
            return records[:at]
    return records


def bytes_of(fields: Fields, room: list[int]) -> int:
    """About how many bytes a tuple has. `room` is how many may be gone through, and gets less.

    The length of a text is known. Lists and compounds are written, which takes native code a tenth
    of the time of weighing them; once there is no room left, they count by their length.

    >>> bytes_of(("job", (1, 2, 3)), [SAMPLED_BYTES]), bytes_of(("job", (1, 2, 3)), [0])
    (8, 7)
    """
    size = 1
    for field in fields:
        if type(field) is str or type(field) is bytes:
            size += len(field)
        elif type(field) is tuple or type(field) is Compound:
            if room[0] > 0:
                written = len(encode(field))
                room[0] -= written
                size += written
            else:
                size += len(parts_of(field))
        else:
            size += 1 if type(field) is not int else 1 + field.bit_length() // 8
    return size


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shares of each agent, token and community at one host; none of them may be 0."""

    agent_calls: int = 50_000
    """Calls of one agent in a second; more wait for their turn."""
    token_calls: int = 100_000
    """The same for all that one token or certificate lets in."""
    agent_tuples: int = 2_000_000
    """Tuples of one agent's writing that lie in its spaces here."""
    agent_bytes: int = 1 << 30
    """About how many bytes they may have."""
    agent_spaces: int = 1_000
    """Spaces that one agent has open, private and shared."""
    kept_spaces: int = 2_000
    """Partitioned spaces that the host keeps a share of, also when their agents are gone."""
    agent_waiting: int = 100_000
    """Operations of one agent that wait."""
    agent_reactions: int = 10_000
    """Reactions of one agent."""
    agent_letters: int = 20_000
    """Letters, and firings of reactions, that wait for one agent's program."""
    agent_letter_bytes: int = 1 << 26
    """How many bytes they may have."""
    agent_memberships: int = 256
    """Communities that one agent is a member of."""
    law_members: int = 100_000
    """Members of one community at this host."""
    agent_law_bytes: int = 524_288
    """Bytes of the texts of the laws that one agent is a member under."""
    laws: int = 4_096
    """Laws that the host has at hand, of all agents together."""
    law_bytes: int = 4_194_304
    """Bytes of their texts. They are compiled before a host serves, the slowest at 18 µs a byte."""
    out_rows: int = 2_000
    """Tuples of one `out_many`: all of them are written in one step."""
    batch_rows: int = 1_000
    """Tuples of one `out_many` into a governed space: each is ruled on."""
    moved_tuples: int = 2_000
    """Tuples that one agent moves with: one step packs all of them, and one unpacks them. Of keys
    of `out(…, once=key)`, ten count as one."""
    receivers: int = 500
    """Receivers of one message."""
    message_bytes: int = 16_777_216
    """Bytes of one message, taken as often as it has receivers."""
    session_s: int = 600
    """Seconds that a session waits for its client to come back. Then its agent has departed."""
    once_s: int = 30 * 86_400
    """Seconds that a key of `out(…, once=key)` is remembered, unless it was written to last."""
    lease_word_s: int = 30
    """Seconds that a word on a lease waits for the host that lent the tuple, if that is away."""


USUAL_SHARES: Final = Shares()


class TooManyTuples(LimitReached):
    """An agent has as many tuples, or as many bytes in them, in its spaces at a host as it may."""

    code = "limits.tuples"


class TooManySpaces(LimitReached):
    """An agent has as many spaces open at a host as it may, or a host keeps as many as it may."""

    code = "limits.spaces"


class TooManyWaiting(LimitReached):
    """An agent has as many operations waiting at a host as it may."""

    code = "limits.waiting"


class TooManyReactions(LimitReached):
    """An agent has as many reactions at a host as it may."""

    code = "limits.reactions"


class TooManyMemberships(LimitReached):
    """An agent is a member of as many communities as it may be, or a community is full."""

    code = "limits.memberships"


class TooManyLaws(LimitReached):
    """A host has as many laws at hand as it may, or an agent as much text in its own."""

    code = "limits.laws"


class TooManyRowsAtOnce(LimitReached):
    """One call would write more tuples than one may."""

    code = "limits.rows"


class TooManyMoved(LimitReached):
    """An agent would move with more tuples than it may."""

    code = "limits.moved"


class TooManyReceivers(LimitReached):
    """A message has more receivers, or more bytes for all of them, than one may have."""

    code = "limits.receivers"


def check_receivers(shares: Shares, count: int, size: int) -> None:
    """Raise `TooManyReceivers` for a message of so many bytes to so many.

    >>> check_receivers(USUAL_SHARES, 100, 200_000)
    Traceback (most recent call last):
    nomospace.host.shares.TooManyReceivers: a message of 200,000 bytes to 100 receivers goes past
    the limit of 16,777,216; send less, to fewer, or put it into a space where all read it
    """
    advice = "send less, to fewer, or put it into a space where all read it"
    if count > shares.receivers:
        what = f"a message to {count:,} receivers"
        raise TooManyReceivers(what=what, limit=shares.receivers, advice=advice)
    if count > 1 and count * size > shares.message_bytes:
        what = f"a message of {size:,} bytes to {count:,} receivers"
        raise TooManyReceivers(what=what, limit=shares.message_bytes, advice=advice)


def check_memberships(
    shares: Shares, agent: str, communities: int, law: CompiledLaw, members: int
) -> None:
    """Raise `TooManyMemberships` for an agent, or a community, that has its share."""
    if communities >= shares.agent_memberships:
        raise TooManyMemberships(
            what=f"the number of communities of {agent}",
            limit=shares.agent_memberships,
            advice="let another agent be a member",
        )
    if members >= shares.law_members:
        raise TooManyMemberships(
            what=f"the number of members of {law.name} at this host",
            limit=shares.law_members,
            advice="join at another host",
        )
