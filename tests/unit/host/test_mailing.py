"""Mail that another host brings: who it may say that it is from."""

import pytest

from nomospace.host.calls import Arrive
from nomospace.host.core import Host
from nomospace.host.effects import Mail
from nomospace.protocols.spaces import Mailed


@pytest.mark.parametrize(
    ("sender", "comes"),
    [
        ("jobs", True),
        ("bob@ward", False),
        ("bob @ward", False),
        ("bob\u200b@ward", False),
        ("bob@ward@", False),
        ("x" * 300 + "@ward", False),
    ],
)
def test_what_a_space_has_released_is_never_from_what_looks_like_an_agent(
    sender: str, comes: bool
) -> None:
    host = Host("ward", life=1, now=0)
    host.handle(Arrive("ann@ward"), now=0)
    host.mailing.hear_mailed("eve", Mailed("", sender, "hi", "ann@ward"))
    told = [one for one in host.step.end() if isinstance(one, Mail)]
    assert told == ([Mail("ann@ward", "", "jobs", "hi")] if comes else [])
