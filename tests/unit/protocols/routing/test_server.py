"""The server: each thing it is told, and all that follows."""

from typing import Any

from msgspec.structs import replace

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.frames import (
    PATH_MAX,
    AgentEnded,
    AgentMigrated,
    Astray,
    Frame,
    Hint,
    MayGo,
    Migrating,
    Post,
    PostReturned,
    QueueFull,
    RecordAck,
    Refuse,
    Register,
    SeekAgent,
    Stayed,
    Update,
)
from nomospace.protocols.routing.interface import (
    ENDED,
    EXISTS,
    FULL,
    NO_TICKET,
    NOT_HERE,
    STALE,
    UNKNOWN,
    Effect,
    Noted,
    PersistChange,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.places import Places
from nomospace.protocols.routing.records import GONE, HERE, LocationRecord
from nomospace.protocols.routing.seats import LIFE_BITS
from nomospace.protocols.routing.server import DomainServer

PLACES = Places({"lab": ("q",), "ward": ("r",), "moon": ("m",)})
ANN, BOB = "ann@lab", "bob@lab"


def ticket(agent: str, epoch: int, site: str) -> str:
    return f"secret of {agent} {epoch} {site}"


def server(*, domain: str = "lab", site: str = "q", **limits: Any) -> DomainServer:
    return DomainServer(site, domain, PLACES, limits=RoutingLimits(**limits), tickets=ticket)


def with_ann(**limits: Any) -> DomainServer:
    core = server(**limits)
    core.hear("s", Register("lab", ANN, 0), now=0)
    return core


def moving(**limits: Any) -> DomainServer:
    core = with_ann(**limits)
    core.hear("s", Migrating("lab", ANN, 0, "t"), now=0)
    return core


def gone() -> DomainServer:
    core = moving()
    core.hear("t", AgentMigrated("lab", ANN, 1, ticket(ANN, 1, "t"), "ward"), now=0)
    return core


def heard(core: DomainServer, frame: Frame, src: str = "s") -> list[Effect]:
    """What others than the disk and the operator notice."""
    return [e for e in core.hear(src, frame, now=0) if not isinstance(e, PersistChange | Noted)]


def post(n: int = 1, to: str = ANN, origin: str = "o", **more: Any) -> Post:
    return Post(BOB, to, n, f"m{n}", origin, **more)


def passed(site: str, before: Post, *way: str, by: str = "q") -> TransmitFrame:
    hops, path = before.hops + 1, (*before.path, by)
    after = Post(
        before.sender, before.to, before.n, before.body, before.origin, way, hops, 1, "", path
    )
    return TransmitFrame(site, after)


def test_a_post_names_the_sites_that_sent_it_on_and_no_more_than_so_many() -> None:
    core = with_ann()
    [sent] = heard(core, SeekAgent("lab", post(path=("u",))))
    assert isinstance(sent, TransmitFrame)
    assert sent.frame == passed("s", post(path=("u",)), "lab").frame
    long = tuple(f"u{number}" for number in range(PATH_MAX))
    [sent] = heard(core, SeekAgent("lab", post(2, path=long)))
    assert isinstance(sent, TransmitFrame)
    assert isinstance(sent.frame, Post)
    assert sent.frame.path == long


def test_a_birth_a_move_and_an_arrival_within_the_domain() -> None:
    core = server()
    assert core.hear("s", Register("lab", ANN, 0), now=0) == [
        PersistChange(written.RecordPut(ANN, "HERE", "s", 0)),
        TransmitFrame("s", RecordAck("lab", ANN, 0)),
    ]
    to_t = ticket(ANN, 1, "t")
    assert core.hear("s", Migrating("lab", ANN, 0, "t"), now=0) == [
        PersistChange(written.RecordPut(ANN, "MOVING", "s", 0, to_t)),
        TransmitFrame("s", MayGo("lab", ANN, 0, to_t)),
    ]
    assert core.hear("o", SeekAgent("lab", post()), now=0) == [
        PersistChange(written.Queued(post()))
    ]
    assert core.hear("t", AgentMigrated("lab", ANN, 1, to_t, "lab"), now=0) == [
        PersistChange(written.RecordPut(ANN, "HERE", "t", 1)),
        passed("t", post(), "lab"),
        TransmitFrame("t", RecordAck("lab", ANN, 1)),
    ]
    assert core.queue(ANN) == ()


def test_who_leaves_the_domain_leaves_a_pointer() -> None:
    core, there = moving(), server(domain="ward", site="r")
    core.hear("o", SeekAgent("lab", post()), now=0)
    register = Register("ward", ANN, 1, ticket(ANN, 1, "t"))
    assert heard(there, register, "t") == [TransmitFrame("t", RecordAck("ward", ANN, 1))]
    queued = Post(BOB, ANN, 1, "m1", "o", ("lab",), 1, 1, "", ("q",))
    assert heard(core, AgentMigrated("lab", ANN, 1, ticket(ANN, 1, "t"), "ward"), "t") == [
        TransmitFrame("r", SeekAgent("ward", queued)),
        TransmitFrame("t", RecordAck("lab", ANN, 1)),
    ]
    assert core.record(ANN) == LocationRecord(GONE, "ward", 1)
    assert there.record(ANN) == LocationRecord(HERE, "t", 1)


def test_who_stayed_gets_its_mail() -> None:
    core = moving()
    core.hear("o", SeekAgent("lab", post()), now=0)
    assert heard(core, Stayed("lab", ANN, 1, ticket(ANN, 1, "t"))) == [
        passed("s", post(), "lab"),
        TransmitFrame("s", RecordAck("lab", ANN, 1)),
    ]
    assert core.record(ANN) == LocationRecord(HERE, "s", 1)


def test_claims_without_the_ticket_are_refused() -> None:
    core = moving()
    before = core.state()
    good = ticket(ANN, 1, "t")
    claims: list[tuple[str, Register | AgentMigrated | Stayed, str]] = [
        ("evil", AgentMigrated("lab", ANN, 1, "guess", "lab"), NO_TICKET),
        ("evil", AgentMigrated("lab", ANN, 1, good, "lab"), NO_TICKET),  # it is for t
        ("t", AgentMigrated("lab", ANN, 2, good, "lab"), NO_TICKET),
        ("t", AgentMigrated("lab", ANN, 1, good, "mars"), NO_TICKET),
        ("t", Stayed("lab", ANN, 1, good), NO_TICKET),  # it was at s
        ("evil", Register("lab", ANN, 9, "guess"), NO_TICKET),
        ("evil", Register("lab", "nobody@ward", 1, "guess"), NO_TICKET),
    ]
    for src, claim, why in claims:
        refuse = Refuse("lab", claim.agent, claim.epoch, why)
        assert heard(core, claim, src) == [TransmitFrame(src, refuse)], claim
    assert core.state() == before


def test_an_old_ticket_is_of_no_use() -> None:
    core = moving()
    migrated = AgentMigrated("lab", ANN, 1, ticket(ANN, 1, "t"), "lab")
    core.hear("t", migrated, now=0)
    assert heard(core, migrated, "t") == [TransmitFrame("t", RecordAck("lab", ANN, 1))], (
        "told again"
    )
    core.hear("t", Migrating("lab", ANN, 1, "s"), now=0)
    core.hear("s", AgentMigrated("lab", ANN, 2, ticket(ANN, 2, "s"), "lab"), now=0)
    assert heard(core, migrated, "t") == [TransmitFrame("t", Refuse("lab", ANN, 1, STALE))]
    again = Register("lab", ANN, 1, ticket(ANN, 1, "t"))
    assert heard(core, again, "t") == [TransmitFrame("t", Refuse("lab", ANN, 1, STALE))]
    assert core.record(ANN) == LocationRecord(HERE, "s", 2)


def test_only_who_is_there_may_leave() -> None:
    core = with_ann()
    for src, frame, why in (
        ("evil", Migrating("lab", ANN, 0, "t"), NOT_HERE),
        ("s", Migrating("lab", BOB, 0, "t"), NOT_HERE),  # the paper's server would wait for ever
        ("s", Migrating("lab", ANN, 7, "t"), STALE),
    ):
        refuse = Refuse("lab", frame.agent, frame.epoch, why)
        assert heard(core, frame, src) == [TransmitFrame(src, refuse)]


def test_names_are_given_once_and_only_at_home() -> None:
    core = with_ann(records_max=2)
    taken = Refuse("lab", ANN, 0, EXISTS)
    assert heard(core, Register("lab", ANN, 0), "t") == [TransmitFrame("t", taken)]
    foreign = Refuse("lab", "x@ward", 0, EXISTS)
    assert heard(core, Register("lab", "x@ward", 0)) == [TransmitFrame("s", foreign)]
    core.hear("s", AgentEnded("lab", ANN, 0), now=0)
    core.hear("s", Register("lab", BOB, 0), now=0)
    full = Refuse("lab", "c@lab", 0, FULL)
    assert heard(core, Register("lab", "c@lab", 0)) == [TransmitFrame("s", full)]


def test_what_an_ended_agent_had_got_does_not_fail_when_it_comes_again() -> None:
    core = with_ann(buried_max=1)
    core.hear("s", AgentEnded("lab", ANN, 0, (("eve@lab", 9), (post().sender, post().n))), now=0)
    again = server()
    again.restore(core.changes(), now=0)
    for each in (core, again):
        seek = SeekAgent("lab", post())
        assert each.hear("o", seek, now=0) == [Noted("repeat dropped", post().id)]
        for late in (replace(post(), n=post().n + 1), replace(post(), sender="eve@lab")):
            failed = [TransmitFrame("o", PostReturned(late, ENDED))]
            assert heard(each, SeekAgent("lab", late)) == failed


def test_an_end_fails_the_queue_and_is_told_to_the_home() -> None:
    there = server(domain="ward", site="r")
    there.hear("u", Register("ward", ANN, 1, ticket(ANN, 1, "u")), now=0)
    there.hear("u", Migrating("ward", ANN, 1, "s"), now=0)
    there.hear("o", SeekAgent("ward", post()), now=0)
    assert heard(there, AgentEnded("ward", ANN, 1), "u") == [
        TransmitFrame("o", PostReturned(post(), ENDED)),
        TransmitFrame("q", AgentEnded("lab", ANN, 1)),
    ]
    home = gone()
    ended = AgentEnded("lab", ANN, 1)
    assert home.hear("evil", ended, now=0) == [Noted("end refused", ("evil", ended))]
    home.hear("r", ended, now=0)
    assert heard(home, SeekAgent("lab", post())) == [
        TransmitFrame("o", PostReturned(post(), ENDED))
    ]


# -- posts -------------------------------------------------------------------------------------


def test_posts_go_to_the_site_to_the_home_or_back() -> None:
    core = with_ann()
    assert heard(core, SeekAgent("lab", post())) == [passed("s", post(), "lab")]
    abroad = post(to="x@ward")
    assert heard(core, SeekAgent("lab", abroad)) == [
        TransmitFrame(
            "r", SeekAgent("ward", Post(BOB, "x@ward", 1, "m1", "o", ("lab",), 1, 1, "", ("q",)))
        )
    ]
    nobody = post(to="x@lab")
    assert core.hear("o", SeekAgent("lab", nobody), now=0) == [
        PersistChange(written.StrayNoted("x@lab", BOB, 1)),
        TransmitFrame("o", PostReturned(nobody, UNKNOWN)),
    ]


def test_a_full_queue_sends_posts_back() -> None:
    core = moving(queue_max=1)
    core.hear("o", SeekAgent("lab", post(1)), now=0)
    back = Post(BOB, ANN, 2, "m2", "o", ("lab",), 1, path=("q",))
    assert heard(core, SeekAgent("lab", post(2))) == [TransmitFrame("o", QueueFull(back))]
    assert core.queue(ANN) == (post(1),)


def test_a_post_passed_on_too_often_goes_back_with_a_note() -> None:
    core = with_ann(passes_max=3)
    lost = post(way=("ward", "lab"), passes=3)
    assert core.hear("o", SeekAgent("lab", lost), now=0) == [
        Noted("astray", (lost.id, lost.way)),
        TransmitFrame("o", Astray(core.stopped(lost))),
    ]


def test_strays_are_told_to_who_is_born_and_forgotten_above_a_limit() -> None:
    core = server(strays_max=2)
    for n, to in ((1, ANN), (2, ANN)):
        core.hear("o", SeekAgent("lab", post(n, to)), now=0)
    again = server()
    again.restore(core.changes(), now=0)
    strays = ((BOB, 1), (BOB, 2))
    assert heard(again, Register("lab", ANN, 0)) == [
        TransmitFrame("s", RecordAck("lab", ANN, 0, strays))
    ]
    core.hear("o", SeekAgent("lab", post(1, "x@lab")), now=0)
    life = 1 << LIFE_BITS
    assert heard(core, Register("lab", ANN, 0)) == [TransmitFrame("s", RecordAck("lab", ANN, life))]


def test_a_name_is_free_again_when_its_grave_is_forgotten_in_a_later_life() -> None:
    core = with_ann(tombs_max=1)
    core.hear("s", Register("lab", BOB, 0), now=0)
    core.hear("s", AgentEnded("lab", ANN, 0), now=0)
    effects = core.hear("s", AgentEnded("lab", BOB, 0), now=0)
    assert PersistChange(written.Forgotten(ANN, 1)) in effects
    again = server()
    again.restore(core.changes(), now=0)
    life = 1 << LIFE_BITS
    assert heard(again, Register("lab", ANN, 0)) == [
        TransmitFrame("s", RecordAck("lab", ANN, life))
    ]


def test_a_name_that_ended_is_free_for_an_agent_of_a_later_life() -> None:
    core = with_ann()
    core.hear("s", AgentEnded("lab", ANN, 0), now=0)
    assert heard(core, SeekAgent("lab", post())) == [
        TransmitFrame("o", PostReturned(post(), ENDED))
    ]
    life = 1 << LIFE_BITS
    again = [TransmitFrame("t", RecordAck("lab", ANN, life))]
    assert heard(core, Register("lab", ANN, 0), "t") == again
    restored = server()
    restored.restore(core.changes(), now=0)
    assert restored.record(ANN) == core.record(ANN)


# -- updates -----------------------------------------------------------------------------------


def test_an_update_collapses_the_chain_and_goes_back_along_the_way() -> None:
    core = gone()
    core.hear("r", SeekAgent("lab", post(way=("moon",))), now=0)
    update = Update((BOB, ANN, 1), ANN, "v", 4, "o", ("moon", "lab"))
    assert heard(core, update, "r") == [
        TransmitFrame("m", Update((BOB, ANN, 1), ANN, "v", 4, "o", ("moon",)))
    ]
    assert heard(core, SeekAgent("lab", post(2))) == [passed("v", post(2), "lab")]
    assert core.hear("r", update, now=0) == [], "replayed, or of a life before: nobody is alarmed"


def test_forged_late_and_older_updates_change_nothing() -> None:
    core = gone()
    forged = Update((BOB, ANN, 1), ANN, "evil", 9, "o", ("lab",))
    assert core.hear("evil", forged, now=0) == []
    assert core.guess(ANN) is None
    core.hear("o", SeekAgent("lab", post(1)), now=0)
    nowhere = Update((BOB, ANN, 1), ANN, "v", 9, "o", ("mars", "lab"))
    assert core.hear("r", nowhere, now=0) == [Noted("update refused", ("r", nowhere))]
    assert core.hear("evil", forged, now=0) == [Noted("update refused", ("evil", forged))]
    older = Update((BOB, ANN, 1), ANN, "s", 0, "o", ("lab",))
    assert heard(core, older, "r") == [
        TransmitFrame("o", Update((BOB, ANN, 1), ANN, "s", 0, "o", ()))
    ]
    assert core.guess(ANN) is None
    here = with_ann()
    here.hear("o", SeekAgent("lab", post(1)), now=0)
    here.hear("evil", Update((BOB, ANN, 1), ANN, "evil", 9, "o", ("lab",)), now=0)
    assert heard(here, SeekAgent("lab", post(2))) == [passed("s", post(2), "lab")], (
        "it knows better"
    )


def test_what_was_passed_on_is_remembered_up_to_a_limit() -> None:
    core = with_ann(passed_max=1)
    core.hear("o", SeekAgent("lab", post(1)), now=0)
    core.hear("o", SeekAgent("lab", post(2)), now=0)
    late = Update((BOB, ANN, 1), ANN, "s", 0, "o", ("lab",))
    assert core.hear("s", late, now=0) == []
    assert len(heard(core, Update((BOB, ANN, 2), ANN, "s", 0, "o", ("lab",)))) == 1


def test_the_eager_policy_tells_the_home_and_who_wrote() -> None:
    there = server(domain="ward", site="r", writers_max=2)
    there.hear("u", Register("ward", ANN, 1, ticket(ANN, 1, "u")), now=0)
    there.hear("u", Migrating("ward", ANN, 1, "v"), now=0)
    migrated = AgentMigrated("ward", ANN, 2, ticket(ANN, 2, "v"), "moon", ("a", "b", "c"))
    assert heard(there, migrated, "v") == [
        TransmitFrame("v", RecordAck("ward", ANN, 2)),
        TransmitFrame("q", Hint("lab", ANN, "v", 2)),
        TransmitFrame("a", Hint("", ANN, "v", 2)),
        TransmitFrame("b", Hint("", ANN, "v", 2)),
    ]
    home = gone()
    home.hear("evil", Hint("lab", ANN, "evil", 9), now=0)
    assert home.guess(ANN) is None
    home.hear("r", Hint("lab", ANN, "v", 2), now=0)
    assert home.guess(ANN) == "v"


def test_a_copy_is_equal_and_apart() -> None:
    core = moving()
    core.hear("o", SeekAgent("lab", post(1)), now=0)
    core.hear("o", SeekAgent("lab", post(1, "x@lab")), now=0)
    twin, before = core.copy(), core.state()
    assert twin.state() == before
    assert hash(twin.state()) == hash(before)
    twin.hear("o", SeekAgent("lab", post(2)), now=0)
    twin.hear("o", SeekAgent("lab", post(2, "x@lab")), now=0)
    twin.hear("t", AgentMigrated("lab", ANN, 1, ticket(ANN, 1, "t"), "lab"), now=0)
    assert core.state() == before != twin.state()
