"""The map: who is drawn, where they sit, and equal rulings as one line; pure functions all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable

from nomospace.console import console
from nomospace.console.places.floor import (
    ROOMS_MAX,
    SIGNS_MAX,
    FloorRoom,
    ShownFloor,
    StandingAgent,
)

NOW = Path(console.__file__).parent / "static" / "now"


def run_js(module: str, code: str) -> Any:
    """What an expression over a module of the pages is."""
    node = compute_driver_executable()[0]
    text = f"import * as m from '{(NOW / module).as_uri()}'; console.log(JSON.stringify({code}));"
    done = subprocess.run(
        [node, "--input-type=module", "-e", text], capture_output=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def room(name: str, count: int) -> FloorRoom:
    agents = [StandingAgent(f"a{at:03}@{name}", name, f"a{at:03}", "") for at in range(count)]
    return FloorRoom(name, name, agents)


def drawn(plan: dict[str, Any]) -> dict[str, list[str]]:
    return {one["name"]: one["agents"] for one in plan["rooms"]}


def test_of_many_hosts_the_busiest_are_drawn_and_stay() -> None:
    rooms = [room(f"h{at:03}", 10) for at in range(100)]
    busy = {f"a000@h{at:03}": 100.0 for at in range(70, 94)}
    floor = ShownFloor()
    first = floor.plan(rooms, busy)
    assert list(drawn(first)) == [f"h{at:03}" for at in range(70, 94)]
    assert len(first["rooms"]) == ROOMS_MAX
    assert first["hidden"] == "and 76 more hosts with 760 agents"
    # Others have become busy, and one host has gone: who is drawn stays where it was.
    second = floor.plan(rooms[:93], {"a001@h001": 1_000.0})
    assert list(drawn(second)) == ["h001", *[f"h{at:03}" for at in range(70, 93)]]
    assert second["rooms"][1] == first["rooms"][0]


def test_in_a_crowd_the_busiest_are_drawn_and_the_rest_is_counted() -> None:
    floor = ShownFloor()
    crowd = [room("ward", SIGNS_MAX + 500)]
    plan = floor.plan(crowd, {"a2499@ward": 9.0})
    (found,) = plan["rooms"]
    assert found["agents"][0] == "a2499@ward"
    assert (len(found["agents"]), found["more"]) == (SIGNS_MAX, 500)
    assert floor.plan(crowd, {"a2400@ward": 99.0}) == plan


def test_nobody_moves_because_somebody_else_came_or_went() -> None:
    before = run_js("layout.js", "[...m.seated([], ['a', 'b', 'c', 'd'])]")
    assert before == [["a", 0], ["b", 1], ["c", 2], ["d", 3]]
    after = run_js("layout.js", f"[...m.seated({json.dumps(before)}, ['a', 'c', 'd', 'e', 'f'])]")
    assert dict(after) == {"a": 0, "c": 2, "d": 3, "e": 1, "f": 4}
    place = "{x: 0, y: 0, w: 400, h: 300}"
    few, more = run_js("layout.js", f"[m.seats(3, {place}), m.seats(6, {place})]")
    assert few == more, "the seats of a room come in steps"


def test_every_room_and_seat_is_on_the_ground_at_every_size() -> None:
    code = """
      [[320, 200], [760, 560], [1900, 900]].flatMap(([w, h]) => [1, 3, 7, 24].flatMap((count) => {
        const out = (x, y, a) => x < a.x || x > a.x + a.w || y < a.y || y > a.y + a.h;
        const ground = {x: 0, y: 0, w, h};
        return m.rooms(count, w, h).flatMap((room) => [
          ...m.seats(40, room).places.filter(({x, y}) => out(x, y, room)),
          ...[room].filter(({x, y, w, h}) => out(x, y, ground) || out(x + w, y + h, ground)),
        ]);
      }))
    """
    assert run_js("layout.js", code) == []


def test_equal_rulings_in_a_row_are_one_line_with_their_count() -> None:
    def ruling(record: int, home: str, gist: str) -> list[object]:
        return ["ward", record, 0, home, "sent", "refused", gist, None, [], ""]

    rogue = [ruling(at, "rolf@w", f"publish({at})") for at in (1, 2, 3)]
    rulings = json.dumps([*rogue, ruling(4, "ann@w", "hi"), ruling(5, "rolf@w", "publish(5)")])
    runs = json.dumps(
        [
            ["ward", "rolf@w", "sent", "refused", None, "publish", 1484],
            ["ward", "eve@w", "sent", "refused", None, "x", 7],
        ]
    )
    lines = run_js("folding.js", f"m.counted(m.folded([], {rulings}), {runs})")
    counts = [(one["one"][3], one["count"], one["one"][1]) for one in lines["lines"]]
    assert counts == [("rolf@w", 1485, 5), ("ann@w", 1, 4), ("rolf@w", 3, 3)]
    assert lines["left"] == 7
