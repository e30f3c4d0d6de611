"""The calls of a host's agents: each kind goes to the part that carries it out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from nomospace.calls.requests import Adjust, Cancel
from nomospace.errors import NomospaceError
from nomospace.host.calls import Abandoned, Asked, Call, PutBack
from nomospace.host.part import HostPart
from nomospace.host.residents import Resident

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

ALWAYS: Final = frozenset({PutBack, Cancel, Adjust})
"""What is done for suspended agents too: drivers ask it when a client is gone."""

ABANDONED_IN_STEP: Final = 250
"""How many calls of a client that is gone are called off in one step."""

Handler: TypeAlias = Callable[[int, Resident, Any], None]
"""Carries out a request of an agent, and answers it by its number."""


class CallTable(HostPart):
    """The calls of one host's agents, and who carries out which."""

    def __init__(self, host: HostParts, handlers: Mapping[type, Handler]) -> None:
        super().__init__(host)
        self._handlers = handlers

    def call(self, call: Call) -> None:
        """Do what an agent asks; whatever it asked wrongly is its answer."""
        request, host = call.request, self._host
        try:
            resident = self._spaces.resident(call.agent)
            if host.suspending.concerned and request.__class__ not in ALWAYS:
                refused = host.suspending.refusal(call.agent)
                if refused is not None:
                    raise refused
            self._handlers[request.__class__](call.op, resident, request)
        except NomospaceError as error:
            self._step.fail(call.op, error)

    def abandon(self, event: Abandoned) -> None:
        """Call off what a client that is gone has waited for, some in each step."""
        agent = event.agent
        left = deque[Asked]([Adjust(one, "remove") for one in event.reactions])
        left.extend([Cancel(op) for op in event.calls])

        def some() -> bool:
            for _ in range(min(len(left), ABANDONED_IN_STEP)):
                self.call(Call(0, agent, left.popleft()))
            return bool(left)

        self._host.looking.in_pieces(agent, some)
