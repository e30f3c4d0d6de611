"""The parts of the place that the browser draws: the law, the members, what they owe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nicegui.element import Element

from nomospace.api.published import LawView
from nomospace.console.console import STATIC
from nomospace.console.places.communities.gathered import Hits
from nomospace.console.places.listing import FIRST_ROWS, Row


class LawElement(Element, component=STATIC / "law.js"):
    """A law with its margin. `on_rule` hears the rule whose margin was clicked."""

    def __init__(
        self,
        law: LawView,
        hits: Hits,
        lines: Mapping[str, Sequence[int]],
        on_rule: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._props["text"] = law.text
        # In tuples: what is in a list here is watched, value by value.
        self._props["rules"] = tuple(
            [
                {"name": rule.name, "line": rule.line, "last_line": rule.last_line}
                for rule in law.rules
            ]
        )
        self._props["hits0"] = hits.rules
        self._props["lines0"] = {rule: tuple(line) for rule, line in lines.items()}
        self.on("rule", lambda event: on_rule(str(event.args)))

    def tell(self, hits: Hits, lines: Mapping[str, Sequence[int]]) -> None:
        """Show other counts."""
        self.run_method("tell", hits.rules, dict(lines))

    def show_rule(self, rule: str) -> None:
        """Show where a rule stands."""
        self.run_method("mark", rule)


class Members(Element, component=STATIC / "members.js"):
    """The members with their control states; `tell` brings all. `on_pick` hears `host/home`."""

    def __init__(self, members: Sequence[Row], on_pick: Callable[[str], None]) -> None:
        super().__init__()
        self._props["members"] = tuple(members[:FIRST_ROWS])
        self._props["label"] = "Members"
        self.on("pick", lambda event: on_pick(str(event.args)))

    def tell(self, changed: Sequence[Row], gone: Sequence[str]) -> None:
        """Show what has changed."""
        self.run_method("tell", list(changed), list(gone))


class Owed(Element, component=STATIC / "obligations.js"):
    """What members owe, on a line. `on_pick` hears `host/home`."""

    def __init__(
        self,
        owed: Sequence[Row],
        total: int,
        now: int,
        on_pick: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._props["first"] = tuple(owed)
        self._props["count"] = total
        self._props["now"] = now
        self.on("pick", lambda event: on_pick(str(event.args)))

    def tell(self, owed: Sequence[Row], total: int, now: int) -> None:
        """Show what they owe now."""
        self.run_method("tell", list(owed), total, now)
