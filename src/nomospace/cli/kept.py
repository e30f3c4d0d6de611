"""`nomospace kept`: the tables that `nomospace match` keeps beside a store, and their end.

One line of JSON a set goes to stdout, the one asked last first. They are derived from the store:
whatever is thrown away is made anew by the next question. Exit codes: 0 fine; 1 somebody uses what
was to be thrown away; 2 there is no such store.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from nomospace.cli.remote_options import MARKUP
from nomospace.cli.stores import present
from nomospace.store.keeping import KeptSet
from nomospace.store.kept import kept_place

app = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)


@app.command()
def kept(
    store: Annotated[str, typer.Argument(metavar="STORE", help="A path, or postgresql://…")],
    *,
    drop: Annotated[bool, typer.Option("--drop", help="Throw them away.")] = False,
    space: Annotated[str, typer.Option(metavar="NAME", help="Only those of a space.")] = "",
) -> None:
    """Show the tables that are kept of a store for matching by meaning, or throw them away.

    The store itself is not touched.
    """
    with present(store) as found:
        place = kept_place(found)
        assert place is not None, "a store in memory is not present"
        if drop:
            print(json.dumps({"dropped": place.drop(space or None)}))
            return
        for one in place.sets():
            if not space or one.space == space:
                print(json.dumps(_shown(one), ensure_ascii=False))


def _shown(one: KeptSet) -> dict[str, object]:
    asked = datetime.fromtimestamp(one.asked, UTC).isoformat(timespec="seconds")
    where = {"where": one.where, "bytes": one.bytes, "asked": asked}
    if one.trouble:
        return {**where, "trouble": one.trouble}
    return {"space": one.space, "ontology": one.ontology, "tuples": one.tuples, **where}
