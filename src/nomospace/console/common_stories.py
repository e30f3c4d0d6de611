"""The stories that every place opens: of a ruling, an agent, a host, a law, a rule, a duty.

Each says what, when, under which law, which rule, why, and what followed, and leads on to the
stories of whoever takes part in it. Everything is read when the story is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from nicegui import ui

from nomospace.api.published import CausalStory, MemberView, NotSeen, RulingView, WhyView
from nomospace.api.service import Service
from nomospace.console.frame import Frame
from nomospace.console.look import (
    FORWARDED,
    OBLIGATION,
    REFUSED,
    SIGNS,
    chip,
    doorway,
    empty,
    fact,
    fault,
    gist,
    heading,
    mono,
    plain_button,
    verdict_chip,
    verdict_of,
    when,
    words_to,
)
from nomospace.console.places.communities import gathered
from nomospace.console.programs import HostPrograms
from nomospace.console.stories import story
from nomospace.console.told import address as story_address, step_line, told
from nomospace.errors import NomospaceError

RULINGS_MAX: Final = 12
"""How many rulings of an agent, or after a ruling, a story shows."""
LOOKED_MAX: Final = 600
"""How many records it looks through for them."""
STATE_MAX: Final = 40
LINE_MAX: Final = 200
AGENTS_MAX: Final = 60
NO_HEAD: Final = "its head does not match the event"
KEYS: Final = (
    ("/  or  Ctrl-K", "the command box: find anything by its name, do something, run a template"),
    ("Esc", "close the command box, or the story"),
    ("Tab", "from one thing to the next; Enter opens it"),
    ("arrows", "on the map and in the lists: the neighbours of what is chosen"),
)


# -- a ruling ------------------------------------------------------------------------------------


@story("ruling", "Ruling")
def tell_ruling(frame: Frame, host: str, id: str) -> None:
    """A ruling: what became of an event, why, and what followed."""
    service = frame.console.services[host]
    number = int(id) if id.isdecimal() and len(id) < 16 else 0
    ruling = _ruling(service, number)
    if ruling is None:
        mend = "the journal keeps the latest records; ask for the rulings to see which are there"
        raise NotSeen(what="ruling with the record", name=id, mend=mend)
    if ruling.community:
        verdict_chip(verdict_of(ruling))
    mono(ruling.event).classes("pre term")
    with fact("when"):
        when(ruling.at)
    with fact("at"):
        doorway(ruling.home, partial(frame.open, "agent", host, ruling.home))
        ui.label(f"on {host}, record {ruling.record:,}").classes("quiet")
    if not ruling.community:
        ui.label("The host itself noted this; it stands under no law.").classes("quiet")
        return
    _under(frame, host, ruling)
    if ruling.hops:
        with fact("came by"):
            mono(" → ".join([*ruling.path, host]) if ruling.path else f"… → {host}")
            ui.label(f"{ruling.hops} network message{'s' * (ruling.hops != 1)}").classes(
                "quiet num"
            )
    try:
        _why(frame, host, service.views.why(number))
    except NomospaceError as error:
        heading("Why")
        fault(error)
    _around(frame, f"{host}/{number}", ruling)


def _under(frame: Frame, host: str, ruling: RulingView) -> None:
    with fact("law"):
        go = partial(frame.open, "law", host, ruling.law)
        doorway(f"{ruling.community} {ruling.law[:8]}", go)
    with fact("rule"):
        if ruling.rule is None:
            ui.label("none lets it through")
        else:
            doorway(ruling.rule, partial(frame.open, "rule", host, f"{ruling.law}:{ruling.rule}"))


def _why(frame: Frame, host: str, why: WhyView) -> None:
    """The rules that were tried, the one that fired first; those of other events in one line."""
    heading("Why")
    ui.label(why.verdict).classes("why-said")
    tried = sorted(
        [one for one in why.tried if one.outcome != NO_HEAD], key=lambda one: one.outcome != "fired"
    )
    for one in tried:
        fired = one.outcome == "fired"
        with ui.element("div").classes("tried"):
            with ui.element("div").classes("tried-head"):
                sign = SIGNS[FORWARDED if fired else REFUSED]
                ui.label(sign).classes(FORWARDED if fired else REFUSED).props("aria-hidden=true")
                open_rule = partial(frame.open, "rule", host, f"{why.ruling.law}:{one.rule}")
                doorway(one.rule, open_rule)
                ui.label(one.outcome).classes("quiet")
            if one.about:
                ui.label(one.about).classes("tried-about")
            for goal in one.held:
                _goal("passed", FORWARDED, goal.goal, goal.values)
            if one.failed is not None:
                _goal("failed", REFUSED, one.failed.goal, one.failed.values)
    others = [one.rule for one in why.tried if one.outcome == NO_HEAD]
    if others:
        ui.label(f"Heads of other events: {', '.join(others)}").classes("quiet others")


def _goal(word: str, look: str, goal: str, values: str) -> None:
    with ui.element("div").classes("goal"):
        ui.label(word).classes(f"goal-word {look}")
        with ui.element("div"):
            mono(goal).classes("pre")
            if values:
                mono(f"where {values}").classes("pre quiet")


def _around(frame: Frame, about: str, ruling: RulingView) -> None:
    """What it ordered, what it came from and what came of it, at whichever host."""
    heading("What followed")
    if not ruling.operations:
        ui.label("Nothing: no operation was ordered.").classes("quiet")
    for operation in ruling.operations:
        mono(operation).classes("pre operation")
    body = ui.element("div").classes("story-around").props("data-around")

    async def read() -> None:
        try:
            story = await told(frame, about)
        except NomospaceError:
            return  # the ruling itself says what is the matter
        body.clear()
        with body:
            _next_to(frame, about, story)

    ui.timer(0, read, once=True)


def _next_to(frame: Frame, about: str, story: CausalStory) -> None:
    by_id = {step.id: step for step in story.steps}
    mine = by_id[about]
    before = [by_id[link.id] for link in mine.causes if link.id in by_id]
    after = [step for step in story.steps if any(link.id == about for link in step.causes)]
    for title, steps in (("Where it came from", before), ("What came of it", after)):
        if steps:
            heading(title)
            for step in steps[:RULINGS_MAX]:
                step_line(frame, step, step.at - mine.at)
    if len(story.steps) > 1:
        words = f"The whole story: {len(story.steps)} steps"
        words_to(words, partial(frame.go, story_address(about))).props("data-whole")


def _ruling(service: Service, number: int) -> RulingView | None:
    if number < 1:
        return None
    # After 0 come the latest ones: the first record may be among them.
    limit = LOOKED_MAX if number == 1 else 1
    found = service.views.rulings(after=number - 1, limit=limit).rulings
    return next((one for one in found if one.record == number), None)


def line(frame: Frame, host: str, ruling: RulingView, *, home: bool = True) -> None:
    """One ruling in a list of a story, with or without at whose home it was."""
    verdict = verdict_of(ruling)
    go = partial(frame.open, "ruling", host, ruling.record)
    with plain_button("line", go, title=ruling.event):
        when(ruling.at, clock=True).classes("quiet")
        ui.label(SIGNS[verdict]).classes(verdict).props(f'role=img aria-label="{verdict}"')
        who = f"{ruling.home}  " if home else ""
        said = f"{ruling.kind} {gist(ruling.kind, ruling.event)}"
        mono(f"{who}{said}"[:LINE_MAX]).classes("line-event")
        ui.label(ruling.rule or "–").classes("quiet")


# -- an agent ------------------------------------------------------------------------------------


@story("agent", "Agent")
def tell_agent(frame: Frame, host: str, id: str) -> None:
    """An agent: where it is, its laws with its control states, its last rulings."""
    console = frame.console
    mono(id).classes("story-name")
    at = _whereabouts(frame, id)
    with fact("where"):
        if at:
            doorway(at, partial(frame.open, "host", console.name, at))
        else:
            ui.label("not in this group now").classes("quiet")
    service = console.services.get(at) or console.services[host]
    views = service.views
    found = [one for one in views.agents(after=_before(id), limit=1) if one.id == id]
    if found and found[0].program:
        with fact("program"):
            mono(found[0].program)
    if found and found[0].clients:
        with fact("clients"):
            ui.label(str(found[0].clients)).classes("num")
    seat = at if at in console.services else host
    mine = {one.hash for one in service.laws_of(id)}
    laws = [law for law in views.communities() if law.law in mine]
    for law in laws:
        member = views.member(law.law, id)
        heading(f"Under {law.name}")
        with fact("law"):
            doorway(law.law[:8], partial(frame.open, "law", seat, law.law))
            ui.label(f"{member.rulings:,} rulings").classes("quiet num")
        _standing(frame, seat, member)
        for duty in member.obligations[:RULINGS_MAX]:
            with ui.element("div").classes("duty"):
                ui.label(SIGNS[OBLIGATION]).classes(OBLIGATION).props("aria-hidden=true")
                when(duty.due_at).classes("obligation")
                mono(duty.term).classes("pre")
    if not laws:
        empty("It is under no law here.", f"nomospace agent ls shows the agents of {at or host}")
    _last_rulings(frame, [seat], home=id)


def _standing(frame: Frame, host: str, member: MemberView) -> None:
    """A member's control state now, and before each of its last rulings: a slider goes back."""
    views = frame.console.services[host].views
    chips = ui.element("div").classes("chips")
    moment = ui.element("div").classes("quiet")
    slider = ui.element("div")

    def show(past: RulingView | None) -> None:
        chips.clear()
        moment.clear()
        with moment:
            ui.label("as it is now" if past is None else f"before record {past.record:,},")
            if past is not None:
                when(past.at)
        with chips:
            try:
                shown = member if past is None else views.standing(past.record)
            except NomospaceError as error:
                fault(error)
                return
            for term in shown.state[:STATE_MAX]:
                chip(term)
            if not shown.state:
                ui.label("its control state is empty").classes("quiet")
            if shown.state_count > STATE_MAX:
                ui.label(f"and {shown.state_count - STATE_MAX:,} more").classes("quiet")

    async def look_back() -> None:
        found = await views.latest(
            home=member.home, law=member.law, most=LOOKED_MAX, among=LOOKED_MAX
        )
        mine = [*reversed(found), None]
        if found:
            with slider:
                ui.slider(
                    min=0,
                    max=len(found),
                    value=len(found),
                    on_change=lambda event: show(mine[int(event.value)]),
                ).props('dense aria-label="Its standing before each of its last rulings"')

    show(None)
    ui.timer(0, look_back, once=True)


def _last_rulings(
    frame: Frame, hosts: Iterable[str], *, home: str = "", law: str = "", rule: str = ""
) -> None:
    """The latest rulings at hosts that are of this story, the last one first; they come soon."""
    heading("Its last rulings")
    body = ui.element("div").classes("story-lines")

    async def read() -> None:
        mine: list[tuple[int, str, RulingView]] = []
        for host in hosts:
            views = frame.console.services[host].views
            found = await views.latest(
                home=home, law=law, rule=rule, most=RULINGS_MAX, among=LOOKED_MAX
            )
            mine += [(one.at, host, one) for one in found]
        mine.sort(key=lambda one: one[:2], reverse=True)
        with body:
            for _, host, ruling in mine[:RULINGS_MAX]:
                line(frame, host, ruling, home=not home)
            if not mine:
                ui.label(f"None among the last {LOOKED_MAX:,} records.").classes("quiet")

    ui.timer(0, read, once=True)


def _whereabouts(frame: Frame, agent: str) -> str:
    for service in frame.console.services.values():
        found = service.where(agent)
        if found.host:
            return found.host
    return ""


def _before(id: str) -> str:
    """A key right before an id, in the order of texts."""
    return id[:-1] + chr(ord(id[-1]) - 1) + "\U0010ffff" if id else ""


# -- a host, a law, a rule, a duty -----------------------------------------------------------------


@story("host", "Host")
def tell_host(frame: Frame, host: str, id: str) -> None:
    """A host: its group, its agents, its figures."""
    console = frame.console
    topology = console.services[host].views.topology()
    found = next((one for one in topology.hosts if one.name == id), None)
    if found is None:
        raise NotSeen(what="host", name=id, mend="look at Now to see which are in the group")
    mono(id).classes("story-name")
    with fact("group"):
        alone = len(topology.hosts) < 2
        others = ", ".join(one.name for one in topology.hosts if one.name != id)
        ui.label("on its own" if alone else f"engaged with {others}")
    with fact("link"):
        here = "this console's host" if found.here else ""
        ui.label(here or ("direct" if found.neighbour else "by way of others"))
    service = console.services.get(id)
    if service is not None:
        tally = service.views.tally()
        with fact("since its start"):
            ui.label(
                f"{tally.rulings:,} rulings, {tally.refused:,} refused, {tally.hops:,} hops, "
                f"{tally.obligations:,} duties pending"
            ).classes("num")
        figures = service.figures()
        with fact("now"):
            ui.label(
                f"{figures['spaces']:,.0f} spaces, {figures['tuples']:,.0f} tuples, "
                f"{figures['sessions']:,.0f} sessions, {figures['records']:,.0f} records"
            ).classes("num")
    heading(f"Agents ({found.agents_count:,})")
    with ui.element("div").classes("chips"):
        seat = id if id in console.services else host
        for agent in found.agents[:AGENTS_MAX]:
            doorway(agent, partial(frame.open, "agent", seat, agent)).classes("chip")
        if found.agents_count > AGENTS_MAX:
            ui.label(f"and {found.agents_count - AGENTS_MAX:,} more").classes("quiet")
    if service is not None:
        HostPrograms(frame, id, service)


@story("law", "Law")
def tell_law(frame: Frame, host: str, id: str) -> None:
    """A law: its rules with how often each has ruled."""
    law = frame.console.services[host].views.law(id)
    views = list(gathered.laws(frame.console.services, id))
    hits = gathered.hits_of(views)
    mono(law.name).classes("story-name")
    with fact("hash"):
        mono(law.hash).classes("wrap")
    with fact("members"):
        ui.label(f"{sum(one.members for one in views):,}").classes("num")
        if len(views) > 1:
            ui.label(f"on {len(views)} hosts").classes("quiet")
    with fact("discloses"):
        mono(law.disclose)
    heading("Rules")
    for rule in law.rules:
        number = hits.rules[rule.name]
        with ui.element("div").classes("rule-line" + ("" if number else " never")):
            ui.label(f"{number:,}").classes("num rule-hits")
            doorway(rule.name, partial(frame.open, "rule", host, f"{law.hash}:{rule.name}"))
            mono(rule.event)
            if not number:
                ui.label("never ruled").classes("quiet")
    if hits.unmatched:
        ui.label(f"{hits.unmatched:,} events met no rule.").classes("quiet")
    if hits.uncounted:
        ui.label(f"Counted since record {hits.uncounted + 1:,}, and not before.").classes("quiet")


@story("rule", "Rule")
def tell_rule(frame: Frame, host: str, id: str) -> None:
    """A rule: its text, what it is for, and the last rulings by it."""
    views = frame.console.services[host].views
    hash, _, name = id.partition(":")
    law = views.law(hash)
    rule = next((one for one in law.rules if one.name == name), None)
    if rule is None:
        raise NotSeen(what="rule", name=name, mend="ask for the law to see its rules")
    mono(f"{rule.name}  {rule.event}").classes("story-name")
    with fact("law"):
        doorway(f"{law.name} {law.hash[:8]}", partial(frame.open, "law", host, law.hash))
    with fact("has ruled"):
        number = gathered.hits_of(list(gathered.laws(frame.console.services, hash))).rules[name]
        ui.label(f"{number:,} times" if number != 1 else "once").classes("num")
    if rule.comment:
        ui.label(rule.comment).classes("why-said")
    lines = law.text.splitlines()[rule.line - 1 : rule.last_line]
    mono("\n".join(lines)).classes("pre term")
    _last_rulings(frame, frame.console.services, law=hash, rule=name)


@story("obligation", "Obligation")
def tell_obligation(frame: Frame, host: str, id: str) -> None:
    """A duty, by `law:due:home`: who owes what, and when it falls due."""
    law, _, rest = id.partition(":")
    due, _, home = rest.partition(":")
    views = frame.console.services[host].views
    member = views.member(law, home)
    found = [one for one in member.obligations if str(one.due_at) == due]
    if not found:
        mend = "it was met, repealed, or fell due; see the rulings of its member"
        raise NotSeen(what="obligation of", name=home, mend=mend)
    verdict_chip(OBLIGATION)
    for duty in found:
        mono(duty.term).classes("pre term")
        with fact("falls due"):
            when(duty.due_at)
    with fact("of"):
        doorway(home, partial(frame.open, "agent", host, home))
    with fact("law"):
        doorway(law[:8], partial(frame.open, "law", host, law))
    _last_rulings(frame, [host], home=home)


@story("help", "Help")
def tell_help(frame: Frame, host: str, id: str) -> None:
    """The keys, and what the four signs mean."""
    del id
    words_to("What the words mean", partial(frame.open, "words", host, ""))
    heading("Keys")
    for key, words in KEYS:
        with fact(key):
            ui.label(words)
    heading("Signs")
    for verdict, words in (
        (FORWARDED, "the law let it through, perhaps changed"),
        (REFUSED, "the law let nothing through, and nothing changed"),
        ("held", "nothing went out yet, but something is remembered or owed"),
        (OBLIGATION, "something is owed by then, or fell due"),
    ):
        with ui.element("div").classes("fact"):
            with ui.element("div").classes("fact-name"):
                verdict_chip(verdict)
            ui.label(words).classes("fact-said")
