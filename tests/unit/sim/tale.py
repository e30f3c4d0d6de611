"""Histories of spaces that tests tell by hand, to see what checkers say of them."""

from typing import Any

from nomospace.calls.answers import Found
from nomospace.calls.requests import (
    READ_ALL,
    TAKE,
    Open,
    Out,
    Request,
    Seek,
    Share,
)
from nomospace.calls.ways import Way
from nomospace.terms.templates import ANY, Template
from nomospace_lab.sim.checkers import Checker
from nomospace_lab.sim.clock import SECOND_US
from nomospace_lab.sim.federation import Sites
from nomospace_lab.sim.observed import (
    ANSWERED,
    ASKED,
    CAME,
    FIRED,
    UNTOLD,
    Answered,
    ObservedCall,
    ObservedFiring,
)
from nomospace_lab.sim.simulation import START_US

ALL = Template.of((ANY, ANY))
ANN, BOB = "ann@x", "bob@y"
HOMES = {ANN: "x", BOB: "y"}


class Tale:
    """A history that is told step by step; a minute passes between two steps unless said."""

    def __init__(self) -> None:
        self.world = Sites(0, observe=False)
        self.history = self.world.history
        self.now = START_US
        self.ops = 0
        self.op_of: dict[int, tuple[str, str]] = {}
        for agent, host in HOMES.items():
            self.add(CAME, agent, host, wait_s=0)
            self.did(agent, Open("jobs"))
            self.did(agent, Share(("jobs",)))

    def add(self, kind: str, who: str, what: Any = None, wait_s: float = 60) -> None:
        self.now += int(wait_s * SECOND_US)
        self.history.add(self.now, kind, who, what)

    def ask(self, agent: str, request: Request, *, round: int = 0, wait_s: float = 60) -> int:
        self.ops += 1
        self.op_of[self.ops] = (agent, HOMES[agent])
        self.add(ASKED, agent, ObservedCall(self.ops, HOMES[agent], request, round), wait_s)
        return self.ops

    def answer(self, op: int, value: Any = None, *, told: bool = True, wait_s: float = 1) -> None:
        agent, host = self.op_of[op]
        kind = ANSWERED if told else UNTOLD
        self.add(kind, agent, Answered(op, host, value, None), wait_s)

    def did(self, agent: str, request: Request, value: Any = None, **how: Any) -> int:
        op = self.ask(agent, request, **how)
        self.answer(op, value)
        return op

    def write(self, agent: str, number: int, **options: Any) -> Found:
        self.did(agent, Out("jobs", ("job", number), **options))
        return Found(("job", number), agent, number, agent)

    def take(self, agent: str, value: Any, how: Way = TAKE, **options: Any) -> int:
        return self.did(agent, Seek("jobs", how, ALL, **options), value)

    def count(self, ann: tuple[Found, ...], bob: tuple[Found, ...], round: int = 1) -> None:
        for agent, held in ((ANN, ann), (BOB, bob)):
            self.did(agent, Seek("jobs", READ_ALL, ALL, at=agent), held, round=round)

    def fire(self, agent: str, reaction: str, found: Found) -> None:
        self.add(FIRED, agent, ObservedFiring(HOMES[agent], reaction, found, "weak"))

    def answers(self, check: Checker) -> str:
        verdict = check(self.world)
        assert str(verdict)
        return verdict.answer
