"""The watch over plain listeners: it strikes late ones, and never after their end."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextlib import suppress

import pytest

from nomospace.client import watchdog
from nomospace.client.watchdog import Guard, ListenerOverran, guard


def spin(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "done"


def test_quick_ones_pass_and_late_ones_are_struck() -> None:
    assert guard().call(1.0, spin, 0.01) == "done"
    began = time.monotonic()
    with pytest.raises(ListenerOverran) as caught:
        guard().call(0.2, spin, 30)
    assert time.monotonic() - began < 5
    assert caught.value.limit_s == 0.2


def test_what_the_function_raises_passes_unchanged() -> None:
    with pytest.raises(ZeroDivisionError):
        guard().call(1.0, lambda: 1 / 0)


def test_nothing_strikes_after_the_end() -> None:
    for _ in range(20):  # ends about when the watch looks
        with suppress(ListenerOverran):
            guard().call(0.05, spin, 0.05)
    spin(0.4)  # would be struck here


def test_inside_a_step_it_waits_for_the_end_of_the_step() -> None:
    steps: list[str] = []

    def listener() -> None:
        guard().enter()
        try:
            spin(0.5)  # long past the limit
            steps.append("whole")
        finally:
            guard().leave()
        steps.append("never")

    with pytest.raises(ListenerOverran):
        guard().call(0.1, listener)
    assert steps == ["whole"]


def test_a_guard_inside_another_gives_the_outer_its_time_back() -> None:
    def outer() -> str:
        with pytest.raises(ListenerOverran):
            guard().call(0.1, spin, 30)
        return spin(0.1)

    assert guard().call(30.0, outer) == "done"


def test_each_thread_has_a_guard_of_its_own_and_dead_ones_are_forgotten() -> None:
    caught: list[str] = []
    guards: list[weakref.ref[Guard]] = []

    def work() -> None:
        guards.append(weakref.ref(guard()))
        try:
            guard().call(0.2, spin, 30)
        except ListenerOverran:
            caught.append("struck")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert guard().call(30.0, spin, 0.5) == "done"
    for thread in threads:
        thread.join(timeout=20)
    assert caught == ["struck"] * 3
    end = time.monotonic() + 20
    while any(ref() is not None for ref in guards) and time.monotonic() < end:
        gc.collect()  # tracebacks of those that were struck know their guards
        time.sleep(0.01)
    assert [ref() for ref in guards] == [None] * 3
    assert guard() in watchdog._watch.guards()


def test_the_watch_sleeps_and_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_QUIET_ROUNDS_MAX", 1)
    monkeypatch.setattr(watchdog, "_ROUND_S", 0.02)
    guard().call(1.0, spin, 0.01)
    end = time.monotonic() + 20
    while watchdog._watch.awake and time.monotonic() < end:
        time.sleep(0.01)
    assert not watchdog._watch.awake
    with pytest.raises(ListenerOverran):
        guard().call(0.1, spin, 30)
