"""What Nomospace is, in one line, and the words of its pages, each in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nicegui import ui

from nomospace.console.look import heading, words_to
from nomospace.console.stories import story

if TYPE_CHECKING:
    from nomospace.console.frame import Frame

WHAT: Final = "Rules that every message between agents must pass, enforced at each agent's edge."
GLOSSARY: Final = {
    "agent": "A program or person with a name, such as ann@ward. It lives on a host and may move.",
    "host": "A process on which agents live. Hosts in contact are one group.",
    "law": "Rules that say what becomes of every event of its members. Its hash names it.",
    "rule": "One line of a law: an event, what must hold, and what is done then.",
    "community": "All agents that have adopted the same law.",
    "member": "An agent under a law. It may be a member of several communities.",
    "control state": "What the law remembers of a member. Only the law reads and changes it.",
    "controller": "Keeps the law at a member's edge: it rules before anything goes out or in.",
    "ruling": "What a law made of one event: a rule, and the operations that it ordered.",
    "forwarded": "The law let it through, perhaps changed.",
    "refused": "The law let nothing through, and nothing changed.",
    "held": "Nothing went out yet, but something is remembered or owed.",
    "obligation": "Something the law does by itself when its time has come.",
    "space": "A pool of tuples under one name. Hosts in contact see one space; apart, their own.",
    "tuple": "A row of values that an agent writes, and others read or take by a template.",
    "template": "A pattern for tuples: (job, _:int) is a job with any number.",
    "lease": "A tuple that was taken for a while, and comes back unless it is acknowledged.",
    "reaction": "What an agent has done as soon as a tuple that it named is there.",
    "mediator": "An agent that passes on what others publish to those who subscribed.",
    "ontology": "Classes and their properties, so that a template finds what means the same.",
    "hop": "One network message from a host to another.",
    "journal": "The record of every ruling, kept by each host; audits and replays read it.",
}


def what_it_is(frame: Frame) -> None:
    """The line that says what this is, and the way to the words."""
    with ui.element("p").classes("what"):
        ui.label(WHAT)
        words_to("What the words mean", lambda: frame.open("words", frame.console.name, ""))


@story("words", "Words")
def tell_words(frame: Frame, host: str, id: str) -> None:
    """Every word; the one that was asked for stands first."""
    del frame, host
    ui.label(WHAT).classes("why-said")
    for word in sorted(GLOSSARY, key=lambda one: (one != id, one)):
        with ui.element("div").props(f'data-word="{word}"'):
            heading(word)
            ui.label(GLOSSARY[word])
