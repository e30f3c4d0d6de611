"""What an agent is told of a ruling on what it sent: as much as its law discloses, no more.

A ruling shows the control state: what it changed, and often what it found there. An agent may not
read its control state unless the law says so (`000_…` 3.1), so it never holds the ruling itself.
Why nothing went out is told with the answer, because that is when an agent asks; a ruling that
forwards says which rule did it.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from nomospace.calls.answers import STANDING_MAX, DisclosedRuling, Standing
from nomospace.control.events import Ruling, goes_out
from nomospace.control.explain import disclosed, explain
from nomospace.control.membership import Membership, TooMuchState, TooOld
from nomospace.control.reasons import reason, verdict_on
from nomospace.law.budget import Units

HURRIED: Final = "(no reasons: too many were asked for in this second; send less, and see)"


def standing(member: Membership) -> Standing:
    """What the agent of a membership may know of its own control state.

    >>> from nomospace.law import load
    >>> law = load("law(open). disclose(all). initialCS([slot]).")
    >>> standing(Membership(law, "ann@ward")).state
    ('slot',)
    """
    level = member.law.tree.disclose
    if level != "all":
        return Standing(member.home, member.law.hash, level, False, member.seq)
    state = tuple([term for _, term in islice(member.state.items(), STANDING_MAX)])
    owed = tuple(islice(member.pending(), STANDING_MAX))
    left = len(member.state) - len(state) + len(member.obligations) - len(owed)
    return Standing(member.home, member.law.hash, level, True, member.seq, state, owed, left)


def tell(
    member: Membership, ruling: Ruling, *, brief: bool = False, units: Units | None = None
) -> DisclosedRuling:
    """What the agent of a membership may know of a ruling.

    To tell why nothing went out, the rules are gone through again, which costs several times what
    the ruling did; a controller that has no time for that is `brief`. `units` is the budget.

    >>> from nomospace.control import adopt, sent
    >>> from nomospace.law import load
    >>> mute = load("law(mute). R1. sent(X, hum(M), Y) :- loud@CS, do(forward).")
    >>> ann, _ = adopt(mute, "ann@ward", (), now=0)
    >>> [record] = ann.handle(sent("ann@ward", "hum", "bob@ward"), now=0)
    >>> told = tell(ann, record.ruling)
    >>> told.refused, told.rule
    (True, None)
    >>> print(told.explain())
    sent('ann@ward',hum,'bob@ward')
      Refused: no rule speaks of `hum`
      R1: its head does not match the event
    """
    level = member.law.tree.disclose
    stays = ruling.event.kind == "sent" and not goes_out(ruling.operations)
    refused, held = stays and not ruling.delta, stays and bool(ruling.delta)
    story = ""
    if stays:
        sentence = reason(member, ruling, (), level=level).sentence
    else:  # the same words, for what most messages are told
        sentence = verdict_on(ruling, level)
    if brief:
        story = f"{sentence}\n  {HURRIED}" if refused or held else ""
    elif refused or held or ruling.stopped is not None:
        try:
            told = explain(member, ruling, units=units)
            sentence, story = told.verdict, told.text
        except (TooOld, TooMuchState):  # thousands of rulings came of this, or it is a giant's
            story = sentence
    return DisclosedRuling(
        ruling.seq,
        ruling.at,
        ruling.home,
        ruling.law,
        ruling.event.kind,
        None if level == "none" else ruling.rule,
        refused,
        held,
        disclosed(ruling, level),
        ruling.stopped,
        sentence,
        story,
    )
