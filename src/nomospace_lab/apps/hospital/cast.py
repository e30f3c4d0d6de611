"""Who is in the live hospital: wards, people and devices, and what each is there for.

A ward is a host. Everybody is a member of law AP; whoever has no certificate for a kind of alarm is
a layman as to that kind. The numbers are chosen so that a minute shows everything: alarms that
reach all, alarms that reach experts only, repetitions that are refused, duties that are met, met
late, and missed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from nomospace.terms import Term, t
from nomospace_lab.apps.hospital.alarms import META

WARDS: Final = {"emergency": "Emergency", "surgery": "Surgery", "maternity": "Maternity"}
"""The hosts, and what people call them. The first has the console."""
PULSE: Final = "pulse"
"""The kind of alarm that the quiet informer publishes, and nobody else."""


class Colleague(NamedTuple):
    """Somebody or something with a place: `role` is what it is there for, in one word."""

    agent: str
    role: str
    certified: tuple[Term, ...] = ()
    hears: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name without its ward."""
        return self.agent.partition("@")[0]

    @property
    def ward(self) -> str:
        """The ward where it is at home."""
        return self.agent.partition("@")[2]


class Duty(NamedTuple):
    """An inspector's kind of alarm, how soon it acknowledges (seconds), and how many of them."""

    agent: str
    kind: str
    after_s: tuple[float, float]
    share: float


MEDIATOR: Final = Colleague("med@emergency", "mediator", ("mediator",))
MANAGER: Final = Colleague("mira@emergency", "manager", ("facilityManager",))
MONITOR: Final = Colleague("monitor@surgery", "informer", (t.expert(PULSE),), (PULSE,))
"""The quiet informer: a device that publishes all the time and measures how long that takes."""
ROGUE: Final = Colleague("rolf@maternity", "rogue")
ASSISTANT: Final = Colleague("ada@emergency", "assistant")
NURSES: Final = {
    "emergency": Colleague("nora@emergency", "nurse", hears=("fire", "blood")),
    "surgery": Colleague("omar@surgery", "nurse", hears=("blood", "power")),
    "maternity": Colleague("olga@maternity", "nurse", hears=("fire", "power")),
}
"""A nurse in each ward. The assistant is that of the first."""
LAYMEN: Final = (
    Colleague("lena@emergency", "informer", hears=("fire",)),
    Colleague("leo@surgery", "informer", hears=("blood",)),
    Colleague("liam@maternity", "informer", hears=("power",)),
)
EXPERTS: Final = (
    Colleague("felix@emergency", "inspector", (t.expert("fire"),), ("fire",)),
    Colleague("bela@surgery", "inspector", (t.expert("blood"),), ("blood", "fire")),
    Colleague("paul@surgery", "inspector", (t.expert("power"),), ("power",)),
    Colleague("max@maternity", "inspector", (t.expert(META),), (META,)),
    Colleague("fiona@maternity", "expert", (t.expert("fire"),), ("fire", "power")),
    Colleague("berta@emergency", "expert", (t.expert("blood"),), ("blood",)),
)
CAST: Final = (MEDIATOR, MANAGER, MONITOR, ROGUE, *NURSES.values(), *LAYMEN, *EXPERTS)
"""All but the assistant, who goes from ward to ward."""
DUTIES: Final = (
    Duty("felix@emergency", "fire", (2.0, 12.0), 1.0),
    Duty("paul@surgery", "power", (60.0, 240.0), 1.0),
    Duty("bela@surgery", "blood", (5.0, 40.0), 0.6),  # forgets some: those become metaAlarms
    Duty("max@maternity", META, (20.0, 90.0), 1.0),
)
WHAT: Final = {
    "fire": ("smoke in the lift", "a kettle on fire", "a smell of burning"),
    "blood": ("B negative runs out", "a fridge too warm", "a mislabelled bag"),
    "power": ("a dark corridor", "a dead socket", "a humming transformer"),
}
"""What laymen see, again and again: the same within five minutes is refused."""
FOUND: Final = {
    "fire": ("false alarm, all clear", "extinguished", "stay out of the west stairs"),
    "blood": ("fresh stock has come", "the fridge is sealed", "use the second bank"),
    "power": ("on the generator", "back on the mains", "lift two stands still"),
}
"""What experts say."""
