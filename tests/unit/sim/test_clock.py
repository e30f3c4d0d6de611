from nomospace_lab.sim import VirtualClock


def test_time_jumps_to_what_is_due_next() -> None:
    clock = VirtualClock(start_us=5)
    seen: list[tuple[int, str]] = []
    clock.at(1_000_000_000, lambda: seen.append((clock.now, "late")))
    clock.at(20, lambda: seen.append((clock.now, "early")))
    assert clock.next_at() == 20
    while clock.step():
        pass
    assert seen == [(20, "early"), (1_000_000_000, "late")]
    assert clock.next_at() is None


def test_what_falls_on_one_instant_keeps_its_order() -> None:
    clock = VirtualClock(start_us=0)
    seen: list[str] = []
    for name in "dacb":
        clock.at(7, seen.append, name)
    while clock.step():
        pass
    assert "".join(seen) == "dacb"


def test_an_act_for_the_past_happens_now_and_time_never_goes_back() -> None:
    clock = VirtualClock(start_us=100)
    clock.at(10, lambda: None)
    assert clock.step()
    assert clock.now == 100


def test_an_act_may_arrange_another_for_the_same_instant() -> None:
    clock = VirtualClock(start_us=0)
    seen: list[str] = []

    def first() -> None:
        seen.append("first")
        clock.after(0, seen.append, "third")

    clock.at(1, first)
    clock.at(1, seen.append, "second")
    while clock.step():
        pass
    assert seen == ["first", "second", "third"]
