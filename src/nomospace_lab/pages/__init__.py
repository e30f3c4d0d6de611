"""Pages of the demonstrations, which `nomospace up` adds to the console."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nomospace.console.stage import ConsolePlace, ConsolePlugin
from nomospace_lab.pages.stage import HospitalStage

if TYPE_CHECKING:
    from nomospace.console.frame import Frame


def pages(
    *,
    hospital: HospitalStage | None = None,
    games: Mapping[str, Any] | None = None,
    demos: Sequence[str] = (),
) -> ConsolePlugin:
    """The pages of what is shown; `games` by name: `jigsaw`, `redrover`, `assistants`.

    Of several `demos` the first has the card.
    """
    # Their modules load NiceGUI, which takes a while: not before a console is wanted.
    from nomospace_lab.pages import assistants, jigsaw, redrover
    from nomospace_lab.pages.demo_card import CARDS, DemoCard
    from nomospace_lab.pages.first_minute import FirstMinute, actions

    known: dict[str, tuple[str, str, Callable[[Any, Frame], None]]] = {
        "jigsaw": ("RoamingJigsaw", "extension", jigsaw.show),
        "redrover": ("RedRover", "flag", redrover.show),
        "assistants": ("Assistants", "directions_walk", assistants.show),
    }
    places = {}
    for name, (title, icon, show) in known.items():
        if games is not None and name in games:
            game = partial(show, games[name])
            places[f"/{name}"] = ConsolePlace(title, icon, game, group="games")
    static = Path(__file__).parent / "static"
    if hospital is None:
        card = next((CARDS[name] for name in demos if name in CARDS), None)
        over_map = None if card is None else partial(DemoCard, card=card)
        return ConsolePlugin(places=places, static=static, over_map=over_map)
    return ConsolePlugin(
        places=places,
        static=static,
        floor=hospital.floor,
        over_map=lambda frame: FirstMinute(frame, hospital),
        actions=lambda: actions(hospital),
    )
