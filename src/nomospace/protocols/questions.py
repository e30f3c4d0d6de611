"""What the driver of one host asks that of another, beside all that cores say to each other.

Cores bring these frames along the links of the group and do not look into them. They may be lost:
who asks waits for so long and no longer, and asks again if that matters.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class PeerQuestion(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="question"):
    """A question to the driver of a host; `number` is the asker's own."""

    number: int
    body: bytes


class PeerAnswer(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="answer"):
    """The answer to the question that had this number."""

    number: int
    body: bytes


PeerTalk: TypeAlias = PeerQuestion | PeerAnswer
