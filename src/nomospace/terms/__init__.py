"""Terms, their text, their order, and how they match: the values everything else is made of.

>>> from nomospace.terms import t, term
>>> t.alarm(t.kind("fire")) == term("alarm(kind(fire))")
True
"""

from nomospace.terms.encoding import encode
from nomospace.terms.freezing import freeze, t
from nomospace.terms.match import deref, match, resolve, undo, unify
from nomospace.terms.measure import check_size, is_ground, oversize, weight
from nomospace.terms.objects import NotAnObject, Object, is_object, obj, property_of
from nomospace.terms.order import compare, order_key, sort_terms
from nomospace.terms.predicate import FaultyPredicate
from nomospace.terms.source import Diagnostic, Faulty, Source, Span
from nomospace.terms.templates import (
    ANY,
    MISSING,
    WIDTH_MAX,
    BadFormal,
    BadWidth,
    FormalInTuple,
    NotAPattern,
    Template,
    a,
    accepts,
    between,
    feature,
    features_of,
    freeze_tuple,
    is_eager,
    key_of,
    where,
)
from nomospace.terms.templates import same as same_as
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
    same,
)

__all__ = [
    "ANY",
    "INT_BITS_MAX",
    "MISSING",
    "TERM_BYTES_MAX",
    "TERM_DEPTH_MAX",
    "WIDTH_MAX",
    "BadFormal",
    "BadWidth",
    "Compound",
    "Diagnostic",
    "Faulty",
    "FaultyPredicate",
    "FormalInTuple",
    "NotAPattern",
    "NotATerm",
    "NotAnObject",
    "NotGround",
    "Object",
    "Source",
    "Span",
    "Template",
    "Term",
    "TooLarge",
    "Var",
    "a",
    "accepts",
    "between",
    "check_size",
    "compare",
    "deref",
    "encode",
    "feature",
    "features_of",
    "freeze",
    "freeze_tuple",
    "is_eager",
    "is_ground",
    "is_object",
    "key_of",
    "match",
    "obj",
    "order_key",
    "oversize",
    "pattern",
    "property_of",
    "quote",
    "resolve",
    "same",
    "same_as",
    "show",
    "sort_terms",
    "t",
    "term",
    "undo",
    "unify",
    "weight",
    "where",
]
