"""Clients that are let in and would have a host to themselves: each is held to its share.

A well-behaved client works beside each of them; what it gets done meanwhile is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path

import msgspec
import pytest

from nomospace import field
from nomospace.calls.partition import KeyTooLarge
from nomospace.calls.problems import Refused, TooManyFound
from nomospace.calls.requests import (
    TAKE,
    TAKE_NOWAIT,
    Adopt,
    End,
    LawText,
    Move,
    OntologyText,
    Open,
    OutMany,
    Seek,
    Share,
    Tell,
)
from nomospace.client import own_tokens
from nomospace.client.remote import RemoteHost
from nomospace.host.shares import (
    TooManyMoved,
    TooManyReceivers,
    TooManyRowsAtOnce,
    TooManySpaces,
)
from nomospace.host.speaking import OntologyTooLong
from nomospace.law import load
from nomospace.law.parts import LawTooLong
from nomospace.meaning.canon import NotAnOntology, written
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.terms import between, t
from nomospace.terms.templates import ANY, Template
from nomospace.wire.calls import CallTooWide, LawAltered
from nomospace.wire.forms import WireAdopt
from nomospace.wire.framing import join
from nomospace.wire.packing import pack
from nomospace.wire.talk import (
    ALIVE_FRAME,
    ASK,
    BYE_FRAME,
    FAILURE,
    OUT,
    pack_ask,
    pack_seen,
    read_error,
)
from tests.real.hosts import RealHost, caller, end, play, start
from tests.real.raw import Raw
from tests.real.steady import steady

ROOM = 200 << 20
"""How much more memory a host may have beside an attacker."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHost]:
    folder: Path = tmp_path_factory.mktemp("tenants")
    made = RealHost("ward", folder, "--insecure", "--store", "memory")
    start(made)
    yield made
    end(made)


@asynccontextmanager
async def tenant_of(host: RealHost, name: str) -> AsyncIterator[Raw]:
    """A client that was let in, of which every byte is the test's own."""
    async with await Raw.client(host, None) as tenant:
        await tenant.hello(f"{name}@{host.name}", token=own_tokens.find(host.at, host.port))
        yield tenant


async def adopted(tenant: Raw, seq: int, law: LawText) -> Exception | None:
    """Adopt a text as it is; the error it is answered with."""
    tenant.send(join([pack((ASK, seq, 0, WireAdopt(law, ())))]))
    frame = await tenant.frame()
    return read_error(frame[3]) if frame[0] == FAILURE else None


def test_law_that_would_take_a_minute_to_compile(host: RealHost) -> None:
    """Half of its rules are for any message: each branch of its code once had all of these."""
    rule = "sent(X, m{0}(A), Y) :- do(forward).\nsent(X, M, Y) :- a{0}(Z)@CS, do(forward).\n"
    long, short = ["law(l).\n" + "".join(map(rule.format, range(n))) for n in (10_000, 250)]

    async def program() -> None:
        before = host.rss
        async with tenant_of(host, "mallory") as tenant, steady(host, None) as work:
            refused = await adopted(tenant, 1, LawText("0" * 64, "long.law", long))
            assert isinstance(refused, LawTooLong)
            assert refused.code == "limits.law-text"
            done = work.done
            altered = await adopted(tenant, 2, LawText("0" * 64, "short.law", short))
            assert isinstance(altered, LawAltered)
            assert work.done > done + 5, "the loop went on while the law was compiled"
        assert host.rss < before + ROOM

    play(program())


def test_short_law_that_stands_for_very_much_code(host: RealHost) -> None:
    """Each way through a rule is code of its own; beyond a bound the rest is interpreted."""
    goals = ", ".join(["(X = a ; Y = b)"] * 6)
    text = "law(l).\n" + "".join(
        [f"sent(X, m{n}, Y) :- {goals}, do(forward).\n" for n in range(30)]
    )

    async def program() -> None:
        before = host.rss
        async with tenant_of(host, "trudy") as tenant, steady(host, None) as work:
            done = work.done
            altered = await adopted(tenant, 1, LawText("0" * 64, "code.law", text))
            assert isinstance(altered, LawAltered)
            assert work.done > done + 5
            again = await adopted(tenant, 2, LawText(altered.found, "code.law", text))
            assert again is None, "it is a law like others"
        assert host.rss < before + ROOM

    play(program())


def test_wrong_hash_again_and_again(host: RealHost) -> None:
    """What a text is was found out once; to be told so again costs nothing."""
    law = copy(load("law(l). sent(X, M, Y) :- do(forward)."))

    async def program() -> None:
        async with tenant_of(host, "oscar") as tenant, steady(host, None):
            for number in range(200):
                law.hash = f"{number:064}"
                refused = await tenant.call(Adopt(law, ()), texts=True)
                assert isinstance(refused, LawAltered)

    play(program())


def test_law_whose_answers_no_caller_can_read(host: RealHost) -> None:
    """An answer that has not the form of one is mail; it ended the host with an error of ours."""
    law = load(
        "law(made).\nR1. sent(_, _, _) :- do(forward).\n"
        "R2. arrived(X, found(P, T), _) :- not(tupleSpace@CS), do(deliver(X, found(P), Self)),"
        " do(deliver(X, found(P, none), Self)), do(deliver).\n"
        "R3. arrived(_, _, _) :- do(deliver).\n"
    )

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None):
            agent = await client.agent("walter")
            member = await agent.adopt(law)
            space = await agent.space("made", shared=True, law=law)
            await space.out("job", 1)
            assert await space.take_nowait("job", ANY) == ("job", 1)
            inbox = member.inbox()
            assert [len((await anext(inbox)).message.args) for _ in range(2)] == [1, 2]

    play(program())


def test_frames_that_take_long_to_read(host: RealHost) -> None:
    """One of 15 MB is not taken at all; a smaller one is priced before it is read."""

    async def program() -> None:
        async with tenant_of(host, "victor") as tenant, steady(host, None):
            tenant.send(join([pack((OUT, 1, 0, "s", [1] * 15_000_000, "", 0))]))
            assert await tenant.rest() == b""
            await host.noted("bad-frame", "victor", "over the limit")
        async with tenant_of(host, "victor") as tenant, steady(host, None):
            tenant.send(join([pack((OUT, 300, 0, "s", [1] * 4_000_000, "", 0))]))
            frame = await tenant.frame()
            refused = read_error(frame[3])
            assert (frame[0], frame[2]) == (FAILURE, 300)
            assert isinstance(refused, CallTooWide)
            assert refused.code == "limits.call-parts"
            template = pack([[[] for _ in range(1_000_000)]])  # bytes, for who counts the call
            alike = [((1 << 61) - 1) * (1_000 + n) for n in range(7_000)]  # they hash alike
            keys = [pack(msgspec.msgpack.Ext(1, str(one).encode())) + b"\x01" for one in alike]
            state = msgspec.Raw(b"\xde" + len(keys).to_bytes(2) + b"".join(keys))
            seek = ["seek", "s", "take", template, "", "", 0]
            tenant.send(join([pack((ASK, 301, 0, seek))]))
            assert isinstance(read_error((await tenant.frame())[3]), CallTooWide)
            tenant.send(join([pack((ASK, 302, 0, ["save", state]))]))
            assert await tenant.rest() == b""
            await host.noted("bad-frame", "victor", "keys are not all strings")

    play(program())


def test_large_batch_is_read_in_slices(host: RealHost) -> None:
    """It is written as one all the same, and what is asked for after it comes after it."""
    rows = tuple([("row", n, f"number {n}") for n in range(2_000)])

    async def program() -> None:
        async with tenant_of(host, "wilma") as tenant, steady(host, None):
            assert await tenant.call(Open("rows")) is None
            assert await tenant.call(Share(("rows",), True)) is None
            last = Seek("rows", TAKE_NOWAIT, Template.of(rows[-1]))
            both = [pack_ask(3, 0, OutMany("rows", rows)), pack_ask(4, 0, last)]
            tenant.send(join(both))  # in one piece: what follows a batch must wait for it
            answers = [await tenant.frame() for _ in both]
            assert [(frame[0] == FAILURE, frame[2]) for frame in answers] == [
                (False, 3),
                (False, 4),
            ]
            assert rows[-1][2] in repr(answers[1])
            tenant.skip(2)
            assert isinstance(await tenant.call(OutMany("rows", rows * 2)), TooManyRowsAtOnce)
            refused = await tenant.call(OutMany("rows", rows * 9))
            assert isinstance(refused, CallTooWide)

    play(program())


def test_very_many_frames_in_one_piece(host: RealHost) -> None:
    """They are told apart some at a time, and what comes after them is done after them."""
    many = 10_000

    async def program() -> None:
        async with tenant_of(host, "vera") as tenant, steady(host, None):
            tenant.send(join([*[pack_seen(0)] * many, pack_ask(1, 0, Open("mine"))]))
            assert {await tenant.body() for _ in range(many)} == {ALIVE_FRAME}
            assert (await tenant.frame())[2] == 1
            tenant.send(join([*[pack_seen(0)] * many, b""]))  # the last one is none
            alive = join([ALIVE_FRAME])
            assert await tenant.rest() == alive * many
            await host.noted("bad-frame", "vera", "")

    play(program())


def test_large_message_to_very_many(host: RealHost) -> None:
    """It would be kept once for each of them; its law has nothing to say about it."""
    law = load("law(mail). R1. sent(_, _, _) :- do(forward).")
    everybody = tuple([f"absent{n}@ward" for n in range(2_000)])

    async def program() -> None:
        before = host.rss
        async with tenant_of(host, "peggy") as tenant, steady(host, None):
            assert await tenant.call(Adopt(law, ()), texts=True) is None
            refused = await tenant.call(Tell(law.hash, "x" * 200_000, everybody))
            assert isinstance(refused, TooManyReceivers)
            assert refused.code == "limits.receivers"
        assert host.rss < before + ROOM

    play(program())


HARD = """law(hard).
sent(_, cut(T), _) :- split_string(T, T, P), length(P, N), N < 0, do(forward).
sent(_, join(L), _) :- append(L, L, A), append(A, A, B), more(B), do(forward).
sent(_, sift(N), _) :- twice(N, a, T), delete([T], p(p(_, X), X), R), R = [_], do(forward).
sent(_, ways, _) :- {ways}, fail.
sent(_, tell(N), _) :- twice(N, a, T), T == a, do(forward).
more(L) :- append(L, L, M), more(M).
twice(0, T, T). twice(N, A, T) :- N > 0, K is N - 1, twice(K, p(A, A), T).
"""


def test_message_that_gives_a_law_much_to_do(host: RealHost) -> None:
    """Texts of separators, lists that double, terms of shared parts: units bound all of it."""
    law = load(HARD.format(ways=", ".join(["( 1 < 2 ; 2 < 3 )"] * 40)))
    cut = t.cut("".join(map(chr, range(256, 40_000))))
    hard = cut, t.join(tuple(range(5_000))), t.sift(60), "ways", t.tell(60)

    async def program() -> None:
        before = host.rss
        async with tenant_of(host, "wendy") as tenant, steady(host, None) as work:
            assert await tenant.call(Adopt(law, ()), texts=True) is None
            done = work.done
            for message in hard:  # each is answered with a refusal, and why
                assert await tenant.call(Tell(law.hash, message, "walter@ward")) is None
            assert work.done > done
        assert host.rss < before + ROOM

    play(program())


def test_message_whose_ruling_takes_the_whole_budget(host: RealHost) -> None:
    """It is decided in slices: who asks after it is answered before it."""
    law = load("law(slow). R1. sent(_, M, _) :- between(1, M, X), X < 0. R2. sent(_, 0, _).")

    async def program() -> None:
        async with tenant_of(host, "winnie") as tenant:
            assert await tenant.call(Adopt(law, ()), texts=True) is None
            long = pack_ask(2, 0, Tell(law.hash, 99_000, "wendy@ward"))
            short = pack_ask(3, 0, Open("desk"))
            tenant.send(join([long, short]))
            assert [(await tenant.frame())[2] for _ in range(2)] == [3, 2]

    play(program())


def test_space_of_very_many_tuples_that_is_shared_and_parted(host: RealHost) -> None:
    """Its tuples follow in steps: who asks meanwhile is answered before."""
    rows = tuple([("row", n) for n in range(2_000)])

    async def program() -> None:
        async with tenant_of(host, "sharon") as tenant, tenant_of(host, "sheila") as other:
            assert await tenant.call(Open("heap")) is None
            for _ in range(3):
                assert await tenant.call(OutMany("heap", rows)) is None
            for seq, shared in ((5, True), (7, False)):
                asked = [pack_ask(seq, 0, Share(("heap",), shared))]
                asked.append(pack_ask(seq + 1, 0, Open("desk")))
                tenant.send(join(asked))
                first, second = [(await tenant.frame())[2] for _ in asked]
                assert (first, second) == (seq + 1, seq)
                tenant.skip(2)
            assert await other.call(Open("desk")) is None

    play(program())


def test_agent_with_very_many_tuples_that_would_move_and_that_ends(host: RealHost) -> None:
    """It moves with so many at most; it ends in steps, and is answered meanwhile."""
    rows = tuple([("row", n) for n in range(2_000)])

    async def program() -> None:
        async with tenant_of(host, "endor") as tenant:
            assert await tenant.call(Open("heap")) is None
            for _ in range(2):
                assert await tenant.call(OutMany("heap", rows)) is None
            refused = await tenant.call(Move("elsewhere"))
            assert isinstance(refused, TooManyMoved)
            assert refused.code == "limits.moved"
            tenant.send(join([pack_ask(5, 0, End()), pack_ask(6, 0, Open("desk"))]))
            first = await tenant.frame()
            assert first[2] == 6, "it was answered before its agent had ended"
            await tenant.rest()

    play(program())


def test_client_that_leaves_while_very_many_of_its_calls_wait(host: RealHost) -> None:
    """They are called off in steps, and what is written there afterwards is for others."""
    never = Seek("waits", TAKE, Template.of(("never",)))

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None):
            space = await (await client.agent("pat")).space("waits", shared=True)
            async with tenant_of(host, "wim") as tenant:
                assert await tenant.call(Open("waits")) is None
                assert await tenant.call(Share(("waits",), True)) is None
                tenant.send(join([pack_ask(seq, 0, never) for seq in range(3, 1_003)]))
                tenant.skip(1_000)
                assert await tenant.call(Open("desk")) is None
                tenant.send(join([BYE_FRAME]))
                await tenant.rest()
            await space.out("never")
            assert await space.take("never", timeout=60) == ("never",)

    play(program())


def test_space_whose_law_takes_long_to_give_a_tuple_away(host: RealHost) -> None:
    """The controller of a space has a small budget: an answer cannot wait for a later step."""
    law = load(
        """\
law(slow).
R1. sent(_, found(_, _), _) :- between(1, 99000, X), X < 0.
R2. sent(_, M, _) :- not(M = found(_, _)), do(forward).
R3. arrived(_, _, _) :- do(deliver).
"""
    )

    async def program() -> None:
        async with tenant_of(host, "gilda") as tenant:
            assert await tenant.call(Adopt(law, ()), texts=True) is None
            assert await tenant.call(Open("gifts", law)) is None
            assert await tenant.call(OutMany("gifts", (("gift", 1),))) is None
            found = await tenant.call(Seek("gifts", TAKE_NOWAIT, Template.of(("gift", 1))))
            assert isinstance(found, Refused)

    play(program())


def test_ontology_that_takes_long_to_read(host: RealHost) -> None:
    """It is read by a worker and a thread; one that is not sound is told so from memory."""
    classes = [[f"C{n}", [f"S{n}"], [f"C{n // 2}"] if n else [], {}, {}, {}] for n in range(4_000)]
    text = msgspec.json.encode(classes).decode()

    def opened(hash: str, text: str) -> Open:
        return Open("cars", None, True, OntologyText(hash, "cars", text))

    async def program() -> None:
        async with tenant_of(host, "sybil") as tenant, steady(host, None) as work:
            done = work.done
            for _ in range(2):
                refused = await tenant.call(opened("0" * 64, text))
                assert isinstance(refused, NotAnOntology)
            assert work.done > done + 5
            long = await tenant.call(opened("1" * 64, "[" + "[]," * 500_000 + "[]]"))
            assert isinstance(long, OntologyTooLong)
            assert long.code == "limits.ontology-text"
            good = Ontology("cars", [OntologyClass("Car", ("Automobile",))])
            assert await tenant.call(opened(good.hash, written(good))) is None

    play(program())


def test_large_tuples_that_are_read_and_taken_together(host: RealHost) -> None:
    """What one call finds has a limit in bytes; many that come together are kept some at a time."""

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None) as ann:
            space = await (await client.agent("fatima")).space("fat", shared=True)
            await asyncio.gather(*[space.out("fat", n, "x" * 900_000) for n in range(30)])
            for look in (space.read_all, space.take_all):
                with pytest.raises(TooManyFound, match="bytes") as refused:
                    await look("fat", int, str)
                assert refused.value.code == "limits.bulk"
            assert len(await space.take_all("fat", between(0, 1), str)) == 2
            await asyncio.gather(*[space.take("fat", n, str) for n in range(2, 30)])
        assert ann.behind_s < 0.15

    play(program())


def test_large_lists_that_make_every_write_dear(host: RealHost) -> None:
    """To see whether an agent has its share few of its tuples are weighed, and in no time."""

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None) as ann:
            space = await (await client.agent("listel")).space("wide", shared=True)
            for number in range(60):
                await space.out("wide", number, [300] * 9_000)
        assert ann.behind_s < 0.1

    play(program())


def test_large_messages_that_are_remembered(host: RealHost) -> None:
    """Rulings that can be explained, and the journal of a host without a store, have few bytes."""
    echo = load("law(echo). sent(_, _, _) :- do(forward). arrived(_, _, _) :- do(deliver).")

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None):
            agent = await client.agent("letitia")
            member = await agent.adopt(echo)
            before = host.rss
            for _ in range(100):
                await member.send(["x" * 900_000], to=agent.id)
                await anext(member.inbox())
            assert host.rss - before < ROOM

    play(program())


def test_large_messages_that_a_law_keeps(host: RealHost) -> None:
    """A control state has few bytes of large terms: what would be more is not ruled on."""
    keeping = load(
        "law(keeping). sent(_, M, _) :- do(+kept(M)), do(forward). "
        "exception(ruling(_), tooLarge) :- do(deliver(Self, full, Self)). "
        "arrived(_, _, _) :- do(deliver)."
    )

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None):
            agent = await client.agent("hoarder")
            member = await agent.adopt(keeping)
            before = host.rss
            for number in range(100):
                ruling = await member.send(["x" * 450_000], to=agent.id)
                assert bool(ruling.rule) is (number < 9)
                letter = await anext(member.inbox())
                assert (letter.message == "full") is (number >= 9)
            assert host.rss - before < ROOM

    play(program())


def test_partitioned_spaces_that_one_agent_shares_at_once(host: RealHost) -> None:
    """What a host looks through then it looks through one after the other, keys of few bytes."""

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None) as ann:
            agent = await client.agent("partition-maker")
            names = [f"many-{number}" for number in range(200)]
            spaces = [await agent.space(name, partition=field(1)) for name in names]
            for space in spaces:
                await space.out_many([("job", number) for number in range(100)])
            with pytest.raises(KeyTooLarge):
                await spaces[0].out("job", "x" * 900_000)
            await agent.share(*spaces)
        assert ann.behind_s < 0.1

    play(program())


def test_partitioned_spaces_that_are_left_behind(host: RealHost) -> None:
    """A host keeps its shares of so many, whoever opened them; what was told of them stays told."""

    async def left_behind(client: RemoteHost) -> None:
        for number in range(10):
            agent = await client.agent(f"partha-{number}")
            for name in range(900):
                await agent.space(f"p{number}-{name}", shared=True, partition=field(1))
            await agent.end()

    async def program() -> None:
        async with caller(host, None) as client, steady(host, None) as ann:
            before, used_s = host.rss, host.processor_s
            with pytest.raises(TooManySpaces, match="the number of partitioned spaces"):
                await left_behind(client)
            assert host.rss - before < ROOM
            assert host.processor_s - used_s < 10
        assert ann.behind_s < 0.1

    play(program())
