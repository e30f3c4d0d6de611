"""Small parts of places: buttons, boxes to choose from, and work that ends with an answer in place.

Everything is a real control with a label, so that it works by keyboard and is read out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import ui
from nicegui.events import GenericEventArguments

from nomospace.console.look import attributes, card_title, told_in
from nomospace.console.stage import ALL_HOSTS


def act(
    words: str, do: Callable[..., object] | None = None, *, main: bool = False, label: str = ""
) -> ui.button:
    """A button; `main` is the one that a place is for."""
    button = ui.button(words, on_click=do, color=None)
    button.props("flat no-caps dense").classes("act act-main" if main else "act")
    return attributes(button, aria_label=label) if label else button


def copy(text: str, what: str) -> None:
    """Put a text where it can be pasted from, and say so."""
    ui.clipboard.write(text)
    ui.notify(f"{what} copied", timeout=1500)


def choice(
    label: str, options: Mapping[str, str], value: str, changed: Callable[[str], object]
) -> ui.select:
    """A box to choose one of several from, by key and name."""
    known = dict(options)
    found = ui.select(known, value=value if value in known else None, label=label)
    found.props("dense outlined options-dense").classes("choice")
    found.on_value_change(lambda event: changed(str(event.value)))
    return found


def submit(box: ui.input, button: ui.button, do: Callable[[str], Awaitable[None]]) -> None:
    """Enter in the box and a click on the button do the deed with what stands in the box then.

    The text goes with the deed: while a page connects its events wait, each by itself, so a click
    may overtake the typing before it, and the box's value here would be the one before. A deed
    that disables the button is not done again by Enter before it has ended.
    """

    async def done(event: GenericEventArguments) -> None:
        if not button.enabled:
            return
        text = str(event.args or "").strip()
        box.value = text
        await do(text)

    with_text = f"() => emit(getHtmlElement({box.id}).value)"
    box.on("keydown.enter", done, js_handler=with_text)
    button.on("click", done, js_handler=with_text)


def hosts_of(names: Sequence[str]) -> dict[str, str]:
    """Hosts to choose from; where there are several, all of them first.

    >>> hosts_of(["ward"]), list(hosts_of(["ward", "icu"]).values())
    ({'ward': 'ward'}, ['all hosts', 'ward', 'icu'])
    """
    found = {name: name for name in names}
    return {ALL_HOSTS: "all hosts", **found} if len(found) > 1 else found


def card_head(title: str) -> ui.element:
    """The head of a card; what stands beside its title is put inside."""
    with ui.element("div").classes("card-head") as head:
        card_title(title)
    return head


class Working:
    """A button's work: the button waits meanwhile, and what goes wrong is said below it."""

    def __init__(self, button: ui.button, said: ui.element) -> None:
        self._button = button
        self._said = said

    async def __call__(self, work: Awaitable[object]) -> bool:
        """Whether the work was done; errors of ours are shown, others are not ours to hide."""
        done = False
        self._button.props("loading").disable()
        try:
            with told_in(self._said):
                await work
                done = True
        finally:
            if not self._button.is_deleted:
                self._button.props(remove="loading").enable()
        return done
