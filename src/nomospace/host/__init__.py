"""A whole host without its wires: spaces, controllers, protocols and agents behind one `handle`.

>>> from nomospace.host import Arrive, Call, Host, Open, Out, Seek, Template
>>> host = Host("ward", life=1, now=0)
>>> _ = host.handle(Arrive("ann@ward"), now=0)
>>> _ = host.handle(Call(1, "ann@ward", Open("jobs")), now=0)
>>> _ = host.handle(Call(2, "ann@ward", Out("jobs", ("job", 17))), now=0)
>>> seek = Seek("jobs", "take_nowait", Template.of(("job", int)))
>>> host.handle(Call(3, "ann@ward", seek), now=0)[-1].value.fields
('job', 17)
"""

from nomospace.calls.answers import Listed
from nomospace.host.calls import (
    Adjust,
    Adopt,
    Arrive,
    Asked,
    Bundle,
    Call,
    Cancel,
    CarriedSpace,
    Certified,
    Depart,
    Disengage,
    Engage,
    Event,
    Heard,
    Moved,
    Open,
    Out,
    OutMany,
    PutBack,
    React,
    Reactions,
    Request,
    Revoked,
    Seek,
    Settle,
    Share,
    Speak,
    Tell,
    Tick,
)
from nomospace.host.changes import Durable
from nomospace.host.core import Host
from nomospace.host.effects import (
    Answer,
    Effect,
    Fire,
    Found,
    Mail,
    Note,
    Packed,
    Persist,
    Ruled,
    Transmit,
)
from nomospace.host.reacting import Firing
from nomospace.host.system import SYSTEM
from nomospace.terms.templates import Template

__all__ = [
    "SYSTEM",
    "Adjust",
    "Adopt",
    "Answer",
    "Arrive",
    "Asked",
    "Bundle",
    "Call",
    "Cancel",
    "CarriedSpace",
    "Certified",
    "Depart",
    "Disengage",
    "Durable",
    "Effect",
    "Engage",
    "Event",
    "Fire",
    "Firing",
    "Found",
    "Heard",
    "Host",
    "Listed",
    "Mail",
    "Moved",
    "Note",
    "Open",
    "Out",
    "OutMany",
    "Packed",
    "Persist",
    "PutBack",
    "React",
    "Reactions",
    "Request",
    "Revoked",
    "Ruled",
    "Seek",
    "Settle",
    "Share",
    "Speak",
    "Tell",
    "Template",
    "Tick",
    "Transmit",
]
