"""Terms, their text, their order, and how they match: the values everything else is made of.

>>> from nomospace.terms import t, term
>>> t.alarm(t.kind("fire")) == term("alarm(kind(fire))")
True
"""

from nomospace.terms.match import deref, match, resolve, undo, unify
from nomospace.terms.order import compare, order_key, sort_terms
from nomospace.terms.source import Diagnostic, Faulty, Source, Span
from nomospace.terms.text import NotGround, pattern, quote, show, term
from nomospace.terms.values import (
    INT_BITS_MAX,
    TERM_BYTES_MAX,
    TERM_DEPTH_MAX,
    Compound,
    NotATerm,
    Term,
    TooLarge,
    Var,
    check_size,
    encode,
    freeze,
    is_ground,
    oversize,
    same,
    t,
)

__all__ = [
    "INT_BITS_MAX",
    "TERM_BYTES_MAX",
    "TERM_DEPTH_MAX",
    "Compound",
    "Diagnostic",
    "Faulty",
    "NotATerm",
    "NotGround",
    "Source",
    "Span",
    "Term",
    "TooLarge",
    "Var",
    "check_size",
    "compare",
    "deref",
    "encode",
    "freeze",
    "is_ground",
    "match",
    "order_key",
    "oversize",
    "pattern",
    "quote",
    "resolve",
    "same",
    "show",
    "sort_terms",
    "t",
    "term",
    "undo",
    "unify",
]
