"""A host of a world of `Sites`: its disk and its lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from nomospace.host.calls import Bundle, Event
from nomospace.host.changes import Durable
from nomospace.host.core import Host
from nomospace.law import CompiledLaw
from nomospace.protocols.births import BEFORE, ERA_US, ERAS_FROM, era_of
from nomospace.protocols.policy import Policy
from nomospace.protocols.routing.limits import RoutingLimits

Admits: TypeAlias = Callable[[str, str, Any], str]


class Site:
    """A host of the world: its clock, its disk and, while it is up, its core."""

    __slots__ = (
        "admits", "birth", "coming", "core", "disk", "domain", "down_us", "forgets", "frozen",
        "life", "name", "policy", "skew_us", "steps_left", "up", "waits", "wake_at",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        skew_us: int,
        policy: Policy | None,
        domain: str | None,
        admits: Admits | None,
        birth: int = BEFORE,
        *,
        forgets: bool = False,
    ) -> None:
        self.birth = birth
        self.forgets = forgets
        self.name = name
        self.skew_us = skew_us
        self.policy = policy
        self.domain = domain
        self.admits = admits
        self.disk = Durable()
        self.life = 0
        self.up = False
        self.core: Host | None = None
        self.frozen = False  # as the history has it
        self.steps_left: int | None = None  # until a crash in the middle of work
        self.down_us = 0
        self.wake_at: int | None = None
        self.waits: list[Event] | None = None  # what it has yet to be told, while it stands still
        self.coming: dict[str, Bundle | None] = {}  # told to come here, not on disk yet

    def start(
        self,
        now: int,
        laws: Mapping[str, CompiledLaw],
        servers: Mapping[str, tuple[str, ...]],
        limits: RoutingLimits,
    ) -> None:
        """Begin a life: a new core from what is on disk; a host that forgets has a new birth."""
        self.life += 1
        self.up = True
        now += self.skew_us
        era = 0
        if self.forgets:
            self.disk = Durable()
            self.birth = max(ERAS_FROM + now, self.birth + ERA_US)
            era = era_of(self.birth)
        self.core = Host(
            self.name,
            life=era + self.life,
            birth=self.birth,
            era=era,
            now=now,
            policy=self.policy,
            durable=self.disk,
            laws=laws,
            domain=self.domain,
            servers=servers,
            admits=self.admits,
            limits=limits,
        )

    def stop(self) -> None:
        """Lose all but the disk, and who is still to come here."""
        self.up = False
        self.core = None
        self.frozen = False
        self.steps_left = None
        self.wake_at = None
        self.waits = None
