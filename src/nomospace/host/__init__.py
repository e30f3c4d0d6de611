"""A whole host without its wires: spaces, controllers, protocols and agents behind one `handle`.

>>> from nomospace.calls.requests import TAKE_NOWAIT, Open, Out, Seek
>>> from nomospace.host.calls import Arrive, Call
>>> from nomospace.host.core import Host
>>> from nomospace.terms.templates import Template
>>> host = Host("ward", life=1, now=0)
>>> _ = host.handle(Arrive("ann@ward"), now=0)
>>> _ = host.handle(Call(1, "ann@ward", Open("jobs")), now=0)
>>> _ = host.handle(Call(2, "ann@ward", Out("jobs", ("job", 17))), now=0)
>>> seek = Seek("jobs", TAKE_NOWAIT, Template.of(("job", int)))
>>> host.handle(Call(3, "ann@ward", seek), now=0)[-1].value.fields
('job', 17)
"""
