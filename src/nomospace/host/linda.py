"""Operations on spaces as laws see them, and back.

Law text keeps Linda's short words: `out(T)`, `in(P)`, `rd(P)`, `inp`, `rdp`, `ing`, `rdg`,
`react(P, Mode)`, `unreact(P)`, `cancel(Op)`, `returned(T)`, `renewed(T, [lease(S)])`. Options ride
as one more argument, a list, absent when there are none: `out(T, [to(L), ttl(S), once(K)])`,
`returned(T, [delay(S), why(W)])`, with seconds;
`in(P, [correlate(auto), maxSet(6), key('Car')])` for an answer of several tuples together. A law
may forward another operation than the one it was shown, so what reaches a space is always read
back from its term.
"""

from __future__ import annotations

from typing import Any, Final

from nomospace.calls import requests
from nomospace.calls.answers import Found
from nomospace.calls.ways import PRIORITY_MAX
from nomospace.errors import NomospaceError
from nomospace.meaning.question import SET_MAX
from nomospace.terms import Compound, Term
from nomospace.terms.templates import Template, freeze_tuple
from nomospace.terms.values import parts_of

WORDS: Final = {
    requests.TAKE: "in",
    requests.READ: "rd",
    requests.TAKE_NOWAIT: "inp",
    requests.READ_NOWAIT: "rdp",
    requests.TAKE_ALL: "ing",
    requests.READ_ALL: "rdg",
}
HOWS: Final = {word: how for how, word in WORDS.items()}
MODES: Final = {requests.ONCE: "once", requests.ONCE_PER_TUPLE: "oncePerTuple"}
_MODES_BACK: Final = {word: mode for mode, word in MODES.items()}


def seconds(micros: int) -> int | float:
    """Microseconds as laws write times: whole seconds as integers.

    >>> seconds(30_000_000), seconds(1_500_000)
    (30, 1.5)
    """
    whole, rest = divmod(micros, 1_000_000)
    return micros / 1_000_000 if rest else whole


def show(request: requests.Out | requests.Seek | requests.React) -> Compound:
    """The term of an operation.

    >>> from nomospace.terms import show as text
    >>> from nomospace.terms.templates import ANY
    >>> template = Template.of(["job", ANY])
    >>> text(show(requests.Seek("jobs", requests.TAKE, template, lease_us=30_000_000)))
    'in([job,formal(any)],[lease(30)])'
    """
    options: list[Term] = []
    if isinstance(request, requests.Out):
        name: str = "out"
        args: tuple[Term, ...] = (request.fields,)
        if request.to:
            options.append(Compound("to", (request.to,)))
        if request.ttl_us:
            options.append(Compound("ttl", (seconds(request.ttl_us),)))
        if request.once:
            options.append(Compound("once", (request.once,)))
        if request.priority:
            options.append(Compound("priority", (request.priority,)))
    else:
        args = (request.template.term,)
        if isinstance(request, requests.React):
            name = "react"
            args = (*args, MODES[request.mode])
            if request.strength == requests.STRONG:
                options.append(Compound("strength", (requests.STRONG.value,)))
        else:
            name = WORDS[request.how]
            if request.lease_us:
                options.append(Compound("lease", (seconds(request.lease_us),)))
        if request.sets is not None:
            options.append(Compound("correlate", (request.sets.correlate,)))
            options.append(Compound("maxSet", (request.sets.max_set,)))
            if request.sets.key:
                options.append(Compound("key", (request.sets.key,)))
        if request.at:
            options.append(Compound("at", (request.at,)))
        if request.dest:
            options.append(Compound("dest", (request.dest,)))
    return Compound(name, (*args, tuple(options)) if options else args)


def settled_term(request: requests.Settle, fields: tuple[Term, ...]) -> Compound:
    """What is said of a tuple under a lease, but for its acknowledgement.

    >>> settled_term(requests.Settle("jobs", "l", False, 30_000_000), ("job", 1))
    term('renewed([job,1],[lease(30)])')
    >>> settled_term(requests.Settle("jobs", "l", False), ("job", 1))
    term('returned([job,1])')
    """
    if request.renew_us:
        return Compound("renewed", (fields, (Compound("lease", (seconds(request.renew_us),)),)))
    options: list[Term] = []
    if request.delay_us:
        options.append(Compound("delay", (seconds(request.delay_us),)))
    if request.why:
        options.append(Compound("why", (request.why,)))
    return Compound("returned", (fields, tuple(options)) if options else (fields,))


def read(message: Term, space: str) -> requests.Out | requests.Seek | requests.React | None:
    """The operation that a term means, or `None` when it means none.

    >>> from nomospace.terms import term
    >>> read(term("rdp([job,formal(int)])"), "jobs").how
    'read_nowait'
    >>> read(term("hello(world)"), "jobs") is None
    True
    """
    if message.__class__ is not Compound:
        return None
    name, args = message.name, message.args
    plain = 2 if name == "react" else 1
    if not plain <= len(args) <= plain + 1 or args[0].__class__ is not tuple:
        return None
    options = _options(args[plain]) if len(args) > plain else {}
    if options is None:
        return None
    try:
        if name == "out":
            return requests.Out(
                space,
                freeze_tuple(args[0]),
                _word(options, "to"),
                _micros(options, "ttl"),
                _word(options, "once"),
                _priority(options),
            )
        if name == "react" and type(args[1]) is str and args[1] in _MODES_BACK:
            return requests.React(
                space,
                Template.from_term(args[0]),
                _MODES_BACK[args[1]],
                requests.STRONG if options.get("strength") == requests.STRONG else requests.WEAK,
                _word(options, "at"),
                _word(options, "dest"),
                sets=_sets(options),
            )
        if name in HOWS:
            return requests.Seek(
                space,
                HOWS[name],
                Template.from_term(args[0]),
                _word(options, "at"),
                _word(options, "dest"),
                _micros(options, "lease"),
                _sets(options),
            )
    except NomospaceError:
        return None
    return None


def _sets(options: dict[str, Any]) -> requests.Sets | None:
    if "correlate" not in options:
        return None
    most = options.get("maxSet")
    return requests.Sets(
        _word(options, "correlate"),
        _word(options, "key"),
        most if most.__class__ is int else SET_MAX,
    )


def _options(given: Term) -> dict[str, Any] | None:
    if given.__class__ is not tuple:
        return None
    found: dict[str, Any] = {}
    for option in given:
        if option.__class__ is not Compound or len(option.args) != 1:
            return None
        found[option.name] = option.args[0]
    return found


def _word(options: dict[str, Any], name: str) -> str:
    value = options.get(name, "")
    return value if value.__class__ is str else ""


def _priority(options: dict[str, Any]) -> int:
    value = options.get("priority", 0)
    return value if value.__class__ is int and abs(value) <= PRIORITY_MAX else 0


def _micros(options: dict[str, Any], name: str) -> int:
    value = options.get(name, 0)
    return round(value * 1_000_000) if value.__class__ in (int, float) and value > 0 else 0


def answer_of(message: Term, founds: tuple[Found, ...], *, all_: bool) -> Term:
    """What an operation, as laws see it, is answered with: a tuple or a set, or `all_` of them."""
    if not founds and not all_:
        return Compound("none", (message,))
    shown = tuple([found.fields for found in founds]) if all_ else founds[0].fields
    return Compound("found", (message, shown))


def firing_of(message: Term, found: Found) -> Term:
    """What a reaction, as laws see it, is told of: a tuple, or the fields of a set."""
    return Compound("reacted", (parts_of(message)[0], found.fields))
