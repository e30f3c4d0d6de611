"""What stands in the open fields of requests and answers (see `slots` for all that travels).

Apart from `slots`, because a client has requests and answers and nothing of what hosts say to each
other or write down.
"""

from __future__ import annotations

from typing import Final

from nomospace.calls import answers, requests
from nomospace.wire import forms
from nomospace.wire.annotations import Struct
from nomospace.wire.kinds import DATA, OPERATION, SAID, TERM, Slot
from nomospace.wire.shapes import Shapes

CALL_SLOTS: Final[dict[tuple[Struct, str], Slot]] = {
    (requests.OutMany, "rows"): TERM,
    (requests.Tell, "message"): TERM,
    (requests.SendPlain, "message"): TERM,
    (requests.Move, "state"): DATA,
    (requests.Move, "code"): DATA,
    (requests.Launch, "state"): DATA,
    (requests.Launch, "code"): DATA,
    (requests.Save, "state"): DATA,
    (forms.WireAdopt, "args"): TERM,
    (answers.Found, "fields"): TERM,
    (answers.Member, "fields"): TERM,
    (requests.Unread, "message"): SAID,
    (requests.Out, "fields"): TERM,
    (answers.DisclosedRuling, "operations"): OPERATION,
    (answers.Standing, "state"): SAID,
    (answers.Standing, "owed"): SAID,
}

SHAPES: Final = Shapes(CALL_SLOTS)
