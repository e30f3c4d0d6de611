"""Deliberate bugs in matching by meaning: what the brute-force oracle must notice."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

ORACLE: Final = "tests/models/test_matching.py"
ENGINE: Final = "tests/unit/meaning/test_matcher.py"

ASSIGN: Final = "meaning/assign.py"
FACTS: Final = "meaning/facts.py"
COMPILING: Final = "meaning/memory/compiling.py"
MATCHER: Final = "meaning/memory/matcher.py"
CONNECTING: Final = "meaning/planner/connecting.py"
PLACING: Final = "meaning/planner/placing.py"

MEANINGS: Final = (
    Mutant(
        "a set keeps a tuple that it does not need",
        MATCHER,
        "                    if sizes:\n",
        "                    if sizes and one is None:\n",
        ORACLE,
    ),
    Mutant(
        "any gives the greatest ids",
        MATCHER,
        "        if best is None or _orders(rows) < _orders(best):\n",
        "        if best is None or _orders(rows) > _orders(best):\n",
        ORACLE,
    ),
    Mutant(
        "one object serves two fields",
        COMPILING,
        "        if self.network.kind != CORRELATION:\n            return\n",
        "        if self.network.kind:\n            return\n",
        ORACLE,
    ),
    Mutant(
        "plain fields come in any order",
        PLACING,
        "    return [at for at in found if at not in taken and at >= least]\n",
        "    return [at for at in found if at not in taken]\n",
        ENGINE,
    ),
    Mutant(
        "nothing bridges two tuples that share nothing",
        CONNECTING,
        "            if left > 0 and any(\n",
        "            if left > 9 and any(\n",
        ORACLE,
    ),
    Mutant(
        "of fields that ask for the same only different tuples serve",
        CONNECTING,
        "            if at >= least and self.fits(larger, hubs):\n",
        "            if at > least and self.fits(larger, hubs):\n",
        ORACLE,
    ),
    Mutant(
        "a key binds the first tuple only",
        CONNECTING,
        "        hub = Hub(class_name, tuple(range(size)))\n",
        "        hub = Hub(class_name, (0,))\n",
        ORACLE,
    ),
    Mutant(
        "the ties of a function link nothing",
        ASSIGN,
        "                    joined.join(_vertex(left), _vertex(right))\n",
        "                    joined.join(_vertex(left), _vertex(left))\n",
        ORACLE,
    ),
    Mutant(
        "the template's own class comes last",
        ASSIGN,
        "        return own + other\n",
        "        return other + own\n",
        ORACLE,
    ),
    Mutant(
        "what a when says of the computed object is not filled in",
        ASSIGN,
        "                    properties.setdefault(name, found)\n",
        "                    properties.setdefault(name, None)\n",
        ORACLE,
    ),
    Mutant(
        "an object that was seen with two prices passes for one",
        FACTS,
        "                self._varying[class_name] = None\n",
        "                self._varying.clear()\n",
        ENGINE,
    ),
    Mutant(
        "a column does not follow what comes",
        FACTS,
        "            for at in _places(known, class_name):\n",
        "            for at in _places(known, class_name)[1:]:\n",
        "tests/unit/meaning/test_facts.py",
    ),
    Mutant(
        "a plan is kept although there are more tuples",
        FACTS,
        "        if not self._steady and len(self.rows) <= _COUNTED_MAX + 1:\n",
        "        if not self._steady and not self.rows:\n",
        ENGINE,
    ),
)
