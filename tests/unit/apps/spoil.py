"""Laws with one place changed for the worse, to see that somebody notices."""

import re

from nomospace import laws
from nomospace.law import CompiledLaw, load


def spoilt(name: str, changes: dict[str, str]) -> CompiledLaw:
    """A shipped law with some of its text replaced; layout and comments do not count."""
    text = _plain(laws.text(name))
    for old, new in changes.items():
        assert text.count(_plain(old)) == 1, f"law {name} does not say {old!r} once; mend this test"
        text = text.replace(_plain(old), new)
    return load(text, f"spoilt-{name}.law")


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"%.*", "", text))
