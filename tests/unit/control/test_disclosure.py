"""What agents are told of rulings: as much as the law discloses."""

import pytest

from nomospace.control import DisclosedRuling, Membership, RecordRuling, adopt, sent, tell
from nomospace.law import load
from nomospace.terms import Term, show, t

TEXT = """\
law(quota).
{disclose}
initialCS([quota(1)]).
R1. sent(_, say(_), _) :- quota(N)@CS, N > 0, do(dcr(quota(N), 1)), do(forward).
R2. sent(_, wait(M), _) :- do(imposeObligation(M, 5)).
"""


def member(disclose: str) -> Membership:
    text = TEXT.format(disclose=f"disclose({disclose})." if disclose else "")
    return adopt(load(text), "ann@ward", (), now=0)[0]


def send(ann: Membership, message: Term) -> DisclosedRuling:
    [record, *_] = [
        effect
        for effect in ann.handle(sent("ann@ward", message, "bob@ward"), now=0)
        if isinstance(effect, RecordRuling)
    ]
    return tell(ann, record.ruling)


@pytest.mark.parametrize(
    ("disclose", "rule", "operations"),
    [
        ("all", "R1", ["dcr(quota(1),1)", "forward('ann@ward',say(hi),'bob@ward')"]),
        ("rules", "R1", ["forward('ann@ward',say(hi),'bob@ward')"]),
        ("", "R1", ["forward('ann@ward',say(hi),'bob@ward')"]),
        ("none", None, []),
    ],
)
def test_a_law_says_how_much(disclose: str, rule: str | None, operations: list[str]) -> None:
    ann = member(disclose)
    told = send(ann, t.say("hi"))
    assert (told.rule, [show(one) for one in told.operations]) == (rule, operations)
    assert (told.refused, told.held) == (False, False)
    assert ("R1" in told.explain()) is (rule is not None)


def test_a_refusal_says_why_at_once() -> None:
    ann = member("")
    send(ann, t.say("hi"))
    told = send(ann, t.say("hi"))
    assert told.refused
    assert "R1: did not fire" in told.explain()
    assert "failed  N > 0" in told.explain()
    assert "quota(0)" not in told.explain()
    quiet = member("none")
    send(quiet, t.say("hi"))
    assert "R1" not in send(quiet, t.say("hi")).explain()


def test_what_is_held_back_is_told_apart() -> None:
    told = send(member(""), t.wait("x"))
    assert (told.refused, told.held, told.verdict) == (
        False,
        True,
        "Held by R2: nothing is sent yet",
    )
