"""All deliberate bugs: one small change of the source each, and what must notice it."""

from __future__ import annotations

from typing import Final

from tests.mutants.births import BIRTHS
from tests.mutants.collecting import COLLECTING
from tests.mutants.digests import DIGESTS
from tests.mutants.meanings import MEANINGS
from tests.mutants.partition import PARTITION
from tests.mutants.routing import ROUTING
from tests.mutants.rulings import RULINGS
from tests.mutants.sessions import SESSIONS
from tests.mutants.spaces import SPACES
from tests.mutants.streams import STREAMS
from tests.mutants.takeover import TAKEOVER

MUTANTS: Final = (
    *RULINGS,
    *SPACES,
    *ROUTING,
    *MEANINGS,
    *COLLECTING,
    *DIGESTS,
    *STREAMS,
    *BIRTHS,
    *SESSIONS,
    *TAKEOVER,
    *PARTITION,
)
