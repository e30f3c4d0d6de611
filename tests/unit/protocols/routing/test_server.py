"""The server: each thing it is told, and all that follows."""

from typing import Any

from nomospace.protocols.routing import (
    ENDED,
    EXISTS,
    FULL,
    NO_TICKET,
    NOT_HERE,
    STALE,
    UNKNOWN,
    Effect,
    Frame,
    Limits,
    Noted,
    Persist,
    Places,
    Post,
    Server,
    Transmit,
)
from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.frames import (
    Ack,
    Astray,
    Busy,
    Ended,
    Hint,
    MayGo,
    Migrated,
    Migrating,
    Refuse,
    Register,
    Returned,
    Seek,
    Stayed,
    Update,
)
from nomospace.protocols.routing.records import GONE, HERE, Record
from nomospace.protocols.routing.seats import LIFE_BITS

PLACES = Places({"lab": ("q",), "ward": ("r",), "moon": ("m",)})
ANN, BOB = "ann@lab", "bob@lab"


def ticket(agent: str, epoch: int, site: str) -> str:
    return f"secret of {agent} {epoch} {site}"


def server(*, domain: str = "lab", site: str = "q", **limits: Any) -> Server:
    return Server(site, domain, PLACES, limits=Limits(**limits), tickets=ticket)


def with_ann(**limits: Any) -> Server:
    core = server(**limits)
    core.hear("s", Register("lab", ANN, 0), now=0)
    return core


def moving(**limits: Any) -> Server:
    core = with_ann(**limits)
    core.hear("s", Migrating("lab", ANN, 0, "t"), now=0)
    return core


def gone() -> Server:
    core = moving()
    core.hear("t", Migrated("lab", ANN, 1, ticket(ANN, 1, "t"), "ward"), now=0)
    return core


def heard(core: Server, frame: Frame, src: str = "s") -> list[Effect]:
    """What others than the disk and the operator notice."""
    return [e for e in core.hear(src, frame, now=0) if not isinstance(e, Persist | Noted)]


def post(n: int = 1, to: str = ANN, origin: str = "o", **more: Any) -> Post:
    return Post(BOB, to, n, f"m{n}", origin, **more)


def passed(site: str, before: Post, *way: str) -> Transmit:
    after = Post(
        before.sender, before.to, before.n, before.body, before.origin, way, before.hops + 1, 1
    )
    return Transmit(site, after)


def test_a_birth_a_move_and_an_arrival_within_the_domain() -> None:
    core = server()
    assert core.hear("s", Register("lab", ANN, 0), now=0) == [
        Persist(written.RecordPut(ANN, "HERE", "s", 0)),
        Transmit("s", Ack("lab", ANN, 0)),
    ]
    to_t = ticket(ANN, 1, "t")
    assert core.hear("s", Migrating("lab", ANN, 0, "t"), now=0) == [
        Persist(written.RecordPut(ANN, "MOVING", "s", 0, to_t)),
        Transmit("s", MayGo("lab", ANN, 0, to_t)),
    ]
    assert core.hear("o", Seek("lab", post()), now=0) == [Persist(written.Queued(post()))]
    assert core.hear("t", Migrated("lab", ANN, 1, to_t, "lab"), now=0) == [
        Persist(written.RecordPut(ANN, "HERE", "t", 1)),
        passed("t", post(), "lab"),
        Transmit("t", Ack("lab", ANN, 1)),
    ]
    assert core.queue(ANN) == ()


def test_who_leaves_the_domain_leaves_a_pointer() -> None:
    core, there = moving(), server(domain="ward", site="r")
    core.hear("o", Seek("lab", post()), now=0)
    register = Register("ward", ANN, 1, ticket(ANN, 1, "t"))
    assert heard(there, register, "t") == [Transmit("t", Ack("ward", ANN, 1))]
    queued = Post(BOB, ANN, 1, "m1", "o", ("lab",), 1, 1)
    assert heard(core, Migrated("lab", ANN, 1, ticket(ANN, 1, "t"), "ward"), "t") == [
        Transmit("r", Seek("ward", queued)),
        Transmit("t", Ack("lab", ANN, 1)),
    ]
    assert core.record(ANN) == Record(GONE, "ward", 1)
    assert there.record(ANN) == Record(HERE, "t", 1)


def test_who_stayed_gets_its_mail() -> None:
    core = moving()
    core.hear("o", Seek("lab", post()), now=0)
    assert heard(core, Stayed("lab", ANN, 1, ticket(ANN, 1, "t"))) == [
        passed("s", post(), "lab"),
        Transmit("s", Ack("lab", ANN, 1)),
    ]
    assert core.record(ANN) == Record(HERE, "s", 1)


def test_claims_without_the_ticket_are_refused() -> None:
    core = moving()
    before = core.state()
    good = ticket(ANN, 1, "t")
    claims: list[tuple[str, Register | Migrated | Stayed, str]] = [
        ("evil", Migrated("lab", ANN, 1, "guess", "lab"), NO_TICKET),
        ("evil", Migrated("lab", ANN, 1, good, "lab"), NO_TICKET),  # it is for t
        ("t", Migrated("lab", ANN, 2, good, "lab"), NO_TICKET),
        ("t", Migrated("lab", ANN, 1, good, "mars"), NO_TICKET),
        ("t", Stayed("lab", ANN, 1, good), NO_TICKET),  # it was at s
        ("evil", Register("lab", ANN, 9, "guess"), NO_TICKET),
        ("evil", Register("lab", "nobody@ward", 1, "guess"), NO_TICKET),
    ]
    for src, claim, why in claims:
        refuse = Refuse("lab", claim.agent, claim.epoch, why)
        assert heard(core, claim, src) == [Transmit(src, refuse)], claim
    assert core.state() == before


def test_an_old_ticket_is_of_no_use() -> None:
    core = moving()
    migrated = Migrated("lab", ANN, 1, ticket(ANN, 1, "t"), "lab")
    core.hear("t", migrated, now=0)
    assert heard(core, migrated, "t") == [Transmit("t", Ack("lab", ANN, 1))], "told again"
    core.hear("t", Migrating("lab", ANN, 1, "s"), now=0)
    core.hear("s", Migrated("lab", ANN, 2, ticket(ANN, 2, "s"), "lab"), now=0)
    assert heard(core, migrated, "t") == [Transmit("t", Refuse("lab", ANN, 1, STALE))]
    again = Register("lab", ANN, 1, ticket(ANN, 1, "t"))
    assert heard(core, again, "t") == [Transmit("t", Refuse("lab", ANN, 1, STALE))]
    assert core.record(ANN) == Record(HERE, "s", 2)


def test_only_who_is_there_may_leave() -> None:
    core = with_ann()
    for src, frame, why in (
        ("evil", Migrating("lab", ANN, 0, "t"), NOT_HERE),
        ("s", Migrating("lab", BOB, 0, "t"), NOT_HERE),  # the paper's server would wait for ever
        ("s", Migrating("lab", ANN, 7, "t"), STALE),
    ):
        refuse = Refuse("lab", frame.agent, frame.epoch, why)
        assert heard(core, frame, src) == [Transmit(src, refuse)]


def test_names_are_given_once_and_only_at_home() -> None:
    core = with_ann(records_max=2)
    taken = Refuse("lab", ANN, 0, EXISTS)
    assert heard(core, Register("lab", ANN, 0), "t") == [Transmit("t", taken)]
    foreign = Refuse("lab", "x@ward", 0, EXISTS)
    assert heard(core, Register("lab", "x@ward", 0)) == [Transmit("s", foreign)]
    core.hear("s", Ended("lab", ANN, 0), now=0)
    dead = Refuse("lab", ANN, 0, ENDED)
    assert heard(core, Register("lab", ANN, 0)) == [Transmit("s", dead)]
    core.hear("s", Register("lab", BOB, 0), now=0)
    full = Refuse("lab", "c@lab", 0, FULL)
    assert heard(core, Register("lab", "c@lab", 0)) == [Transmit("s", full)]


def test_an_end_fails_the_queue_and_is_told_to_the_home() -> None:
    there = server(domain="ward", site="r")
    there.hear("u", Register("ward", ANN, 1, ticket(ANN, 1, "u")), now=0)
    there.hear("u", Migrating("ward", ANN, 1, "s"), now=0)
    there.hear("o", Seek("ward", post()), now=0)
    assert heard(there, Ended("ward", ANN, 1), "u") == [
        Transmit("o", Returned(post(), ENDED)),
        Transmit("q", Ended("lab", ANN, 1)),
    ]
    home = gone()
    ended = Ended("lab", ANN, 1)
    assert home.hear("evil", ended, now=0) == [Noted("end refused", ("evil", ended))]
    home.hear("r", ended, now=0)
    assert heard(home, Seek("lab", post())) == [Transmit("o", Returned(post(), ENDED))]


# -- posts -------------------------------------------------------------------------------------


def test_posts_go_to_the_site_to_the_home_or_back() -> None:
    core = with_ann()
    assert heard(core, Seek("lab", post())) == [passed("s", post(), "lab")]
    abroad = post(to="x@ward")
    assert heard(core, Seek("lab", abroad)) == [
        Transmit("r", Seek("ward", Post(BOB, "x@ward", 1, "m1", "o", ("lab",), 1, 1)))
    ]
    nobody = post(to="x@lab")
    assert core.hear("o", Seek("lab", nobody), now=0) == [
        Persist(written.StrayNoted("x@lab", BOB, 1)),
        Transmit("o", Returned(nobody, UNKNOWN)),
    ]


def test_a_full_queue_sends_posts_back() -> None:
    core = moving(queue_max=1)
    core.hear("o", Seek("lab", post(1)), now=0)
    back = Post(BOB, ANN, 2, "m2", "o", ("lab",), 1)
    assert heard(core, Seek("lab", post(2))) == [Transmit("o", Busy(back))]
    assert core.queue(ANN) == (post(1),)


def test_a_post_passed_on_too_often_goes_back_with_a_note() -> None:
    core = with_ann(passes_max=3)
    lost = post(way=("ward", "lab"), passes=3)
    assert core.hear("o", Seek("lab", lost), now=0) == [
        Noted("astray", (lost.id, lost.way)),
        Transmit("o", Astray(core.stopped(lost))),
    ]


def test_strays_are_told_to_who_is_born_and_forgotten_above_a_limit() -> None:
    core = server(strays_max=2)
    for n, to in ((1, ANN), (2, ANN)):
        core.hear("o", Seek("lab", post(n, to)), now=0)
    again = server()
    again.restore(core.changes(), now=0)
    strays = ((BOB, 1), (BOB, 2))
    assert heard(again, Register("lab", ANN, 0)) == [Transmit("s", Ack("lab", ANN, 0, strays))]
    core.hear("o", Seek("lab", post(1, "x@lab")), now=0)
    life = 1 << LIFE_BITS
    assert heard(core, Register("lab", ANN, 0)) == [Transmit("s", Ack("lab", ANN, life))]


def test_a_name_is_free_again_when_its_grave_is_forgotten_in_a_later_life() -> None:
    core = with_ann(tombs_max=1)
    core.hear("s", Register("lab", BOB, 0), now=0)
    core.hear("s", Ended("lab", ANN, 0), now=0)
    effects = core.hear("s", Ended("lab", BOB, 0), now=0)
    assert Persist(written.Forgotten(ANN, 1)) in effects
    again = server()
    again.restore(core.changes(), now=0)
    life = 1 << LIFE_BITS
    assert heard(again, Register("lab", ANN, 0)) == [Transmit("s", Ack("lab", ANN, life))]


# -- updates -----------------------------------------------------------------------------------


def test_an_update_collapses_the_chain_and_goes_back_along_the_way() -> None:
    core = gone()
    core.hear("r", Seek("lab", post(way=("moon",))), now=0)
    update = Update((BOB, ANN, 1), ANN, "v", 4, "o", ("moon", "lab"))
    assert heard(core, update, "r") == [
        Transmit("m", Update((BOB, ANN, 1), ANN, "v", 4, "o", ("moon",)))
    ]
    assert heard(core, Seek("lab", post(2))) == [passed("v", post(2), "lab")]
    assert core.hear("r", update, now=0) == [Noted("update refused", ("r", update))], "replayed"


def test_forged_late_and_older_updates_change_nothing() -> None:
    core = gone()
    forged = Update((BOB, ANN, 1), ANN, "evil", 9, "o", ("lab",))
    assert core.hear("evil", forged, now=0) == [Noted("update refused", ("evil", forged))]
    core.hear("o", Seek("lab", post(1)), now=0)
    nowhere = Update((BOB, ANN, 1), ANN, "v", 9, "o", ("mars", "lab"))
    assert core.hear("r", nowhere, now=0) == [Noted("update refused", ("r", nowhere))]
    assert core.hear("evil", forged, now=0) == [Noted("update refused", ("evil", forged))]
    older = Update((BOB, ANN, 1), ANN, "s", 0, "o", ("lab",))
    assert heard(core, older, "r") == [Transmit("o", Update((BOB, ANN, 1), ANN, "s", 0, "o", ()))]
    assert core.guess(ANN) is None
    here = with_ann()
    here.hear("o", Seek("lab", post(1)), now=0)
    here.hear("evil", Update((BOB, ANN, 1), ANN, "evil", 9, "o", ("lab",)), now=0)
    assert heard(here, Seek("lab", post(2))) == [passed("s", post(2), "lab")], "it knows better"


def test_what_was_passed_on_is_remembered_up_to_a_limit() -> None:
    core = with_ann(passed_max=1)
    core.hear("o", Seek("lab", post(1)), now=0)
    core.hear("o", Seek("lab", post(2)), now=0)
    late = Update((BOB, ANN, 1), ANN, "s", 0, "o", ("lab",))
    assert core.hear("s", late, now=0) == [Noted("update refused", ("s", late))]
    assert len(heard(core, Update((BOB, ANN, 2), ANN, "s", 0, "o", ("lab",)))) == 1


def test_the_eager_policy_tells_the_home_and_who_wrote() -> None:
    there = server(domain="ward", site="r", writers_max=2)
    there.hear("u", Register("ward", ANN, 1, ticket(ANN, 1, "u")), now=0)
    there.hear("u", Migrating("ward", ANN, 1, "v"), now=0)
    migrated = Migrated("ward", ANN, 2, ticket(ANN, 2, "v"), "moon", ("a", "b", "c"))
    assert heard(there, migrated, "v") == [
        Transmit("v", Ack("ward", ANN, 2)),
        Transmit("q", Hint("lab", ANN, "v", 2)),
        Transmit("a", Hint("", ANN, "v", 2)),
        Transmit("b", Hint("", ANN, "v", 2)),
    ]
    home = gone()
    home.hear("evil", Hint("lab", ANN, "evil", 9), now=0)
    assert home.guess(ANN) is None
    home.hear("r", Hint("lab", ANN, "v", 2), now=0)
    assert home.guess(ANN) == "v"


def test_a_copy_is_equal_and_apart() -> None:
    core = moving()
    core.hear("o", Seek("lab", post(1)), now=0)
    core.hear("o", Seek("lab", post(1, "x@lab")), now=0)
    twin, before = core.copy(), core.state()
    assert twin.state() == before
    assert hash(twin.state()) == hash(before)
    twin.hear("o", Seek("lab", post(2)), now=0)
    twin.hear("o", Seek("lab", post(2, "x@lab")), now=0)
    twin.hear("t", Migrated("lab", ANN, 1, ticket(ANN, 1, "t"), "lab"), now=0)
    assert core.state() == before != twin.state()
