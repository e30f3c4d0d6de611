"""What `read` and `take` may be told about answers of several tuples together.

Without any of it a template is answered by single tuples only. `correlate="auto"` lets several
tuples answer where no single one does, `"always"` in any case (which makes a difference for the
`_all` forms); `key` names the class of an object that all of them must hold, and `max_set` is how
many they are at most. The host says what is wrong with a value.
"""

from __future__ import annotations

from typing import TypedDict

from nomospace.calls.requests import Sets


class Correlation(TypedDict, total=False):
    """The options."""

    correlate: str
    key: str | None
    max_set: int


def sets_of(given: Correlation) -> Sets | None:
    """The options as they travel; `None` where only single tuples are asked for.

    >>> sets_of({}), sets_of({"correlate": "never"}), sets_of({"key": "Car"})
    (None, None, Sets(correlate='auto', key='Car', max_set=6))
    >>> sets_of({"corelate": "auto"})
    Traceback (most recent call last):
    TypeError: there is no option 'corelate'; there are correlate, key, max_set
    """
    if not given:
        return None
    for name in given:
        if name not in Correlation.__annotations__:
            known = ", ".join(Correlation.__annotations__)
            raise TypeError(f"there is no option {name!r}; there are {known}")
    correlate = given.get("correlate", "auto")
    if correlate == "never":
        return None
    return Sets(correlate, given.get("key") or "", given.get("max_set", 6))
