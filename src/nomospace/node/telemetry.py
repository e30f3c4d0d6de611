"""Traces: a span for each call of an agent, from the moment it is asked to its answer.

The span of a `take` so covers its wait, which is what one wants to see of it. Spans go through the
OpenTelemetry API, to whatever provider the program has set before its host starts. Without one
nothing is traced, and a call costs one look at an attribute: the API is not even imported.
"""

from __future__ import annotations

import sys
from typing import Any, Final

SPANS_MAX: Final = 100_000
"""How many calls under way are traced; those above it are not."""


class Tracing:
    """The spans of one host's calls.

    The driver asks `on` first, which costs next to nothing when it is off:

    >>> tracing = Tracing("ward-3")
    >>> tracing.on
    False
    >>> tracing.begin(1, "take", agent="nurse", space="jobs")  # harmless
    >>> tracing.end(1)
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._tracer: Any = None
        self._spans: dict[int, Any] = {}
        self.on = False
        self.look()

    def look(self) -> None:
        """See whether the program has a provider; called when a host starts."""
        api = sys.modules.get("opentelemetry.trace")
        # Who has set a provider has imported the API; nobody else pays for it.
        if api is None:
            return
        provider = api.get_tracer_provider()
        if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
            return
        self._tracer = provider.get_tracer("nomospace")
        self.on = True

    def begin(self, op: int, kind: str, **attributes: str) -> None:
        """A call is asked; its number is free again when it has ended."""
        if not self.on or len(self._spans) >= SPANS_MAX:
            return
        marks = {"nomospace.host": self._host}
        marks.update((f"nomospace.{name}", value) for name, value in attributes.items())
        self._spans[op] = self._tracer.start_span(kind, attributes=marks)

    def end(self, op: int, error: BaseException | None = None) -> None:
        """A call is answered."""
        span = self._spans.pop(op, None)
        if span is None:
            return
        if error is not None:
            from opentelemetry.trace import Status, StatusCode

            span.set_status(Status(StatusCode.ERROR, str(error)))
            span.set_attribute("nomospace.error", getattr(error, "code", type(error).__name__))
        span.end()

    def stop(self) -> None:
        """The host ends: so do its spans."""
        spans, self._spans = self._spans, {}
        for span in spans.values():
            span.end()
