"""Dicts: values with named parts, as programs and JSON have them.

Inside, a dict is the term `object(null,null,[k(V), …])`, its keys in order and once each: an object
without class and id, which laws, wires and stores carry like any other compound. `values.freeze`
makes it of a Python dict and `thaw` gives it back; in text it is `{k:V,…}`.
"""

from __future__ import annotations

from typing import Any

from nomospace.terms.values import OBJECT, Compound, Term


def is_dict(term: Term) -> bool:
    """Whether a term has a dict's form: enough to look into it.

    >>> from nomospace.terms import freeze, obj
    >>> is_dict(freeze({"a": 1})), is_dict(obj("Car"))
    (True, False)
    """
    return (
        term.__class__ is Compound
        and term.name == OBJECT
        and len(term.args) == 3
        and term.args[0] is None
        and term.args[1] is None
        and term.args[2].__class__ is tuple
    )


def dict_items(term: Term, most: int | None = None) -> tuple[tuple[str, Term], ...] | None:
    """The keys of a dict with their values, in order; `None` for a term that is no dict.

    With `most`, no more than so many are looked at.

    >>> from nomospace.terms import freeze
    >>> dict_items(freeze({"b": 1, "a": 2})), dict_items(freeze([1]))
    ((('a', 2), ('b', 1)), None)
    """
    if not is_dict(term):
        return None
    items: list[tuple[str, Term]] = []
    for item in term.args[2][:most]:
        if item.__class__ is not Compound or len(item.args) != 1:
            return None
        if items and not items[-1][0] < item.name:
            return None
        items.append((item.name, item.args[0]))
    return tuple(items)


def thaw(value: Term) -> Any:
    """A term as programs see it: dicts are Python's, in lists and in each other.

    What stands in a compound or an object stays a term: `Object.of` reads those.

    >>> from nomospace.terms import freeze
    >>> thaw(freeze(["job", {"n": 1, "of": [{"a": None}]}]))
    ('job', {'n': 1, 'of': ({'a': None},)})
    """
    kind = value.__class__
    if kind is tuple:
        for part in value:
            of = part.__class__
            if of is tuple or (of is Compound and part.name == OBJECT):
                return tuple([thaw(part) for part in value])
        return value
    if kind is not Compound or value.name != OBJECT:
        return value
    items = dict_items(value)
    return value if items is None else {key: thaw(part) for key, part in items}
