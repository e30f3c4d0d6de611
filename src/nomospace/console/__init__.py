"""The console: what people see of a host, in a browser.

A page shows one place at a time (`places/`), inside a frame that stays (`frame`): the rail, the
drawer that tells the story of what was clicked, the command box. Pages know only what `api`
publishes: a `Service` and its views; and the few things a demonstration lets one do, which whoever
starts the console hands in (`stage`). What comes from outside (laws, tuples, names) is put into
pages as text, never as markup.

Everything runs in the host's own loop, so nothing here computes for long, and nothing at all when
nobody looks: `pulse` reads what is new four times a second for all viewers together.
"""

from nomospace.console.console import Console

__all__ = ["Console"]
