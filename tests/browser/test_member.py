"""As a member: a person joins, sends, is refused, learns why, receives, and leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, Page, expect

from nomospace.calls.problems import NotLetIn
from nomospace.calls.requests import Tell
from nomospace.node.principals import OpenDoor, Principal
from nomospace.terms import Term
from nomospace.trust.authority import Authority, make_authority, new_serial
from nomospace.trust.keys import SecretKey
from tests.browser.conftest import Open
from tests.browser.site import Servers, Site, site

NOW = time.time_ns() // 1000


def authority(seed: int) -> Authority:
    # The hosts' process reads this file too, and its law names the same key.
    key = SecretKey.from_seed(bytes([seed] * 32))
    return make_authority("admin", key, serial=new_serial(), now=NOW, days=30)


ADMIN, IMPOSTOR = authority(1), authority(2)
LAW = f"""law(club).
disclose(all).
authority(admin, "{ADMIN.public.text}").
initialCS([guest]).

R1. certified([issuer(admin), subject(Self), attributes([role(R)])]) :- do(+R).
R2. sent(_, hello(_), _) :- do(forward).
R3. sent(_, order(_), _) :- member@CS, do(forward).
    % Only members order.
R4. sent(_, bye, _) :- do(quit).
R5. arrived(_, _, _) :- do(deliver).
"""


async def begin(servers: Servers) -> None:
    """Bob is in the club, and a token names Ann alone."""
    from nomospace.law import load

    await (await servers["ward-1"].host.agent("bob")).adopt(load(LAW))


class AnnsDoor(OpenDoor):
    """Lets Ann in by a token of hers."""

    def by_token(self, token: str) -> Principal:
        if token != "ann's":
            raise NotLetIn(why="this token is not known here")
        return Principal("token ann", ("ann@ward-1",))


async def only_ann(servers: Servers) -> None:
    servers["ward-1"].door = AnnsDoor  # type: ignore[method-assign]


async def anns_token(servers: Servers) -> str:
    service = servers["ward-1"].served.service
    service.own_token = ""  # a host with certificates has none of its own
    return str(service.logins.token_for(service.who("ann's")))


async def say(servers: Servers, message: str, to: str) -> None:
    """Have Bob send something."""
    from nomospace.law import load
    from nomospace.terms import term

    line = servers["ward-1"].host.line("bob@ward-1")
    await line.ask(Tell(load(LAW).hash, term(message), to))
    line.shut("bob")


@pytest.fixture(scope="module")
def club() -> Iterator[Site]:
    with site(begin) as found:
        yield found


def join(club: Site, open_page: Open, agent: str) -> Page:
    page = open_page(club, "/member")
    page.get_by_label("Agent", exact=True).fill(agent)
    page.get_by_role("button", name="Be this agent").click()
    expect(page.locator("[data-who]")).to_contain_text("acts on ward-1")
    page.get_by_label("Law, by name or hash").fill("club")
    page.get_by_role("button", name="Adopt").click()
    expect(page.get_by_role("tab", name="club")).to_have_attribute("aria-selected", "true")
    return page


def send(page: Page, message: str, to: str = "bob@ward-1") -> None:
    page.get_by_label("Message").fill(message)
    page.get_by_label("To: an agent").fill(to)
    page.get_by_role("button", name="Send").click()


def choose(page: Page, name: str, data: bytes) -> None:
    page.get_by_label("From a file").set_input_files(
        FilePayload(name=name, mimeType="application/x-pem-file", buffer=data)
    )


def test_a_broken_law_says_where_and_stays_typed(club: Site, open_page: Open) -> None:
    page = open_page(club, "/member")
    text = "law(open).\nR1. sent(_, _, _) :- do(forwrad).\n"
    page.get_by_label("or its text").fill(text)
    page.get_by_role("button", name="Adopt").click()
    fault = page.locator("[data-adopted] [role=alert]")
    expect(fault).to_contain_text("2:25: error [unknown-operation] forwrad/0 is no operation")
    expect(fault).to_contain_text("did you mean forward")
    page.get_by_role("link", name="Spaces").click()
    page.wait_for_selector("main[aria-label=Spaces]")
    page.get_by_role("link", name="As a member").click()
    expect(page.get_by_label("or its text")).to_have_value(text)  # another place, and back
    page.get_by_label("or its text").fill(text.replace("forwrad", "forward"))
    page.get_by_role("button", name="Adopt").click()
    expect(page.get_by_role("tab", name="open")).to_be_visible()


def test_a_member_is_refused_learns_why_and_succeeds(club: Site, open_page: Open) -> None:
    page = join(club, open_page, "ann@ward-1")
    expect(page.locator("[data-state]")).to_contain_text("guest")
    page.get_by_label("Message").press_sequentially("order(")
    expect(page.locator(".typed-said")).to_be_visible()
    send(page, "order(tea)")
    ruling = page.locator(".member-ruling").first
    expect(ruling).to_contain_text("refused")
    expect(ruling).to_contain_text("Only members order.")
    expect(ruling).to_contain_text("failed  member@CS")
    card = ADMIN.issue_role(
        "ann@ward-1",
        SecretKey.generate().public,
        _role("member"),
        serial=new_serial(),
        now=NOW,
        days=3,
    )
    choose(page, "card.pem", card)
    expect(page.locator("[data-presented]")).to_contain_text("card.pem was presented")
    expect(page.locator("[data-state]")).to_contain_text("member")
    send(page, "order(tea)")
    expect(page.locator(".member-ruling").first).to_contain_text("forwarded")
    club.do(say, "hello(ann)", "ann@ward-1")
    letter = page.locator(".member-inbox .listing-row")
    expect(letter).to_contain_text("hello(ann)")
    letter.click()
    expect(page.get_by_label("To: an agent")).to_have_value("bob@ward-1")  # to answer


def test_certificates_that_are_not_ours_are_told_what_is_wrong(club: Site, open_page: Open) -> None:
    page = join(club, open_page, "cem@ward-1")
    said = page.locator("[data-presented] [role=alert]")
    foreign = IMPOSTOR.issue_role(
        "cem@ward-1",
        SecretKey.generate().public,
        _role("member"),
        serial=new_serial(),
        now=NOW,
        days=3,
    )
    page.get_by_label("or as text").fill(foreign.decode())
    page.get_by_role("button", name="Present").click()
    expect(said).to_contain_text("not signed by an authority that the law names (admin)")
    expect(page.get_by_label("or as text")).to_have_value(foreign.decode())
    for name, data, words in (
        ("holiday.jpg", b"\xff\xd8 no certificate", "no certificate"),
        ("film.pem", b"x" * 70_000, "16,38"),
    ):
        choose(page, name, data)
        expect(page.locator("[data-presented]")).to_contain_text(name)
        expect(said).to_contain_text(words)


def test_a_host_that_is_unknown_and_a_law_that_is(club: Site, open_page: Open) -> None:
    page = join(club, open_page, "dan@ward-1")
    page.get_by_text("Move it to another host").click()
    page.get_by_label("Host", exact=True).fill("ward-9")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator("[data-moved] [role=alert]")).to_contain_text(
        "'ward-9' is not in the group"
    )
    page.get_by_role("tab", name="Join another").click()
    page.get_by_label("Law, by name or hash").fill("clubb")
    page.get_by_role("button", name="Adopt").click()
    expect(page.locator("[data-adopted] [role=alert]")).to_contain_text(
        "law 'clubb' is not known at this host; send its text"
    )


def test_the_law_ends_a_membership(club: Site, open_page: Open) -> None:
    page = join(club, open_page, "eve@ward-1")
    expect(page.locator(".member-rule")).to_contain_text("R4. sent(_, bye, _)")
    send(page, "bye")
    expect(page.get_by_text("eve@ward-1 has left the community.")).to_be_visible()
    expect(page.get_by_role("tab", name="club")).to_have_count(0)


def test_an_agents_token_acts_for_that_agent_and_sees_nothing_else(open_page: Open) -> None:
    with site(begin_for_ann) as club:
        page = open_page(club, f"/member?token={club.do(anns_token)}", token=False)
        page.wait_for_selector("main[aria-label='As a member']")
        places = page.get_by_role("navigation", name="Places").get_by_role("link")
        expect(places).to_have_count(1)
        expect(places).to_contain_text("As a member")
        page.get_by_label("Agent", exact=True).fill("bob@ward-1")
        page.get_by_role("button", name="Be this agent").click()
        expect(page.locator("[data-who] [role=alert]")).to_contain_text("bob@ward-1")
        page.get_by_label("Agent", exact=True).fill("ann@ward-1")
        page.get_by_role("button", name="Be this agent").click()
        page.get_by_label("Law, by name or hash").fill("club")
        page.get_by_role("button", name="Adopt").click()
        expect(page.locator("[data-state]")).to_contain_text("guest")  # the law discloses all
        send(page, "hello(bob)")
        expect(page.locator(".member-ruling").first).to_contain_text("forwarded")
        page.goto("about:blank")  # before its host ends


async def begin_for_ann(servers: Servers) -> None:
    """The club, at a host that knows Ann's token and no other."""
    await begin(servers)
    await only_ann(servers)


def _role(name: str) -> tuple[Term, ...]:
    from nomospace.terms import t

    return (t.role(name),)
