"""Terms, their text, their order, and how they match: the values everything else is made of.

>>> from nomospace.terms import t, term
>>> t.alarm(t.kind("fire")) == term("alarm(kind(fire))")
True
"""

from nomospace.terms.encoding import encode as encode
from nomospace.terms.freezing import freeze as freeze, t as t
from nomospace.terms.match import (
    deref as deref,
    match as match,
    resolve as resolve,
    undo as undo,
    unify as unify,
)
from nomospace.terms.objects import (
    NotAnObject as NotAnObject,
    Object as Object,
    is_object as is_object,
    obj as obj,
    property_of as property_of,
)
from nomospace.terms.order import order_key as order_key
from nomospace.terms.predicate import FaultyPredicate as FaultyPredicate
from nomospace.terms.source import (
    Diagnostic as Diagnostic,
    Faulty as Faulty,
    Source as Source,
    Span as Span,
)
from nomospace.terms.templates import (
    ANY as ANY,
    MISSING as MISSING,
    WIDTH_MAX as WIDTH_MAX,
    BadFormal as BadFormal,
    BadWidth as BadWidth,
    FormalInTuple as FormalInTuple,
    NotAPattern as NotAPattern,
    Template as Template,
    a as a,
    accepts as accepts,
    between as between,
    feature as feature,
    features_of as features_of,
    freeze_tuple as freeze_tuple,
    is_eager as is_eager,
    key_of as key_of,
    where as where,
)
from nomospace.terms.text import (
    NotGround as NotGround,
    pattern as pattern,
    quote as quote,
    show as show,
    term as term,
)
from nomospace.terms.values import (
    INT_BITS_MAX as INT_BITS_MAX,
    TERM_BYTES_MAX as TERM_BYTES_MAX,
    TERM_DEPTH_MAX as TERM_DEPTH_MAX,
    Compound as Compound,
    NotATerm as NotATerm,
    Term as Term,
    TooLarge as TooLarge,
    Var as Var,
    check_size as check_size,
    is_ground as is_ground,
    oversize as oversize,
    same as same,
    weight as weight,
)
