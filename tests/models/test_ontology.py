"""Ontologies against the dumbest reading of them: names are followed one step at a time."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from nomospace.meaning.reading import FaultyOntology, read_ontology


class Said(NamedTuple):
    """What a file says of a class."""

    synonyms: list[str]
    parents: list[str]
    properties: dict[str, str]


def made_up(rng: random.Random, *, rings: bool) -> dict[str, Said]:
    names = [f"C{number}" for number in range(rng.randint(1, 14))]
    said: dict[str, Said] = {}
    for place, name in enumerate(names):
        above = names if rings else names[:place]
        parents = rng.sample(above, k=min(len(above), rng.choice([0, 1, 1, 2, 3])))
        synonyms = [f"{name}s{i}" for i in range(rng.choice([0, 0, 1, 2]))]
        kinds = rng.sample(["p", "q", "r"], k=rng.randint(0, 2))
        types = {kind: rng.choice(["number", "integer", "any", "string"]) for kind in kinds}
        said[name] = Said(synonyms, parents, types)
    return said


def as_yaml(rng: random.Random, said: dict[str, Said]) -> str:
    """The same in some order, with parents by any of their names."""
    lines = []
    for name, one in said.items():
        parents = [rng.choice([up, *said[up].synonyms]) for up in one.parents]
        rng.shuffle(parents)
        types = ", ".join(f"{key}: {kind}" for key, kind in one.properties.items())
        lines.append(
            f"  {name}: {{synonyms: [{', '.join(one.synonyms)}], "
            f"parents: [{', '.join(parents)}], properties: {{{types}}}}}"
        )
    rng.shuffle(lines)
    return "\n".join(["classes:", *lines])


def above(said: dict[str, Said], name: str) -> set[str]:
    """Everything over a class, found by walking up for as long as there is something new."""
    found: set[str] = set()
    while True:
        new = {up for one in found | {name} for up in said[one].parents} - found
        if not new:
            return found
        found |= new


def merged(said: dict[str, Said], name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in {name} | above(said, name):
        for key, kind in said[one].properties.items():
            found.setdefault(key, set()).add(kind)
    return found


def one_type(kinds: set[str]) -> bool:
    return not ("string" in kinds and kinds & {"number", "integer"})


@pytest.mark.parametrize("seed", range(150))
def test_an_ontology_means_what_its_file_says(seed: int) -> None:
    rng = random.Random(seed)
    said = made_up(rng, rings=seed % 3 == 0)
    text = as_yaml(rng, said)
    in_rings = {name for name in said if name in above(said, name)}
    torn = {name for name in said if not all(map(one_type, merged(said, name).values()))}
    if in_rings or torn:
        with pytest.raises(FaultyOntology) as caught:
            read_ontology(text)
        codes = {fault.code for fault in caught.value.faults}
        assert codes == {"ontology.cycle" if in_rings else "ontology.type-conflict"}
        if in_rings:
            told = {fault.message.partition(" ")[0] for fault in caught.value.faults}
            assert told <= in_rings
        return
    ontology = read_ontology(text)
    assert ontology.hash == read_ontology(as_yaml(rng, said)).hash
    means = {name: one for one in said for name in (one, *said[one].synonyms)}
    for template, meant in means.items():
        ups = {name for name, one in means.items() if meant in {one} | above(said, one)}
        assert ontology.accepted(template) == ups
        for name, one in means.items():
            assert ontology.accepts(template, name) is (name in ups)
            assert ontology.same_class(template, name) is (meant == one)
    narrow = {"integer": 0, "string": 0, "number": 1, "any": 2}
    for name in said:
        assert set(ontology.ancestors(name)) == above(said, name)
        assert set(ontology.descendants(name)) == {one for one in said if name in above(said, one)}
        assert dict(ontology.properties(name)) == {
            key: min(kinds, key=narrow.__getitem__) for key, kinds in merged(said, name).items()
        }


def test_the_seeds_meet_every_case() -> None:
    """Some files are refused for either reason, and most are taken; else the test shows nothing."""
    counts = {"ring": 0, "torn": 0, "fine": 0}
    for seed in range(150):
        rng = random.Random(seed)
        said = made_up(rng, rings=seed % 3 == 0)
        if any(name in above(said, name) for name in said):
            counts["ring"] += 1
        elif any(not all(map(one_type, merged(said, name).values())) for name in said):
            counts["torn"] += 1
        else:
            counts["fine"] += 1
    assert min(counts.values()) >= 20, counts


def needs_itself(said: dict[str, Said], needs: dict[str, set[str]]) -> set[str]:
    """The classes that need themselves: what their functions and inherited functions name, on."""
    direct = {
        name: set().union(*(needs[one] for one in {name} | above(said, name))) for name in said
    }
    found = set()
    for name in said:
        reached: set[str] = set()
        new = direct[name]
        while new - reached:
            reached |= new
            new = set().union(*(direct[one] for one in reached))
        if name in reached:
            found.add(name)
    return found


def test_rings_of_functions_are_found_and_nothing_else() -> None:
    taken = refused = 0
    for seed in range(300):
        rng = random.Random(seed)
        said = made_up(rng, rings=False)
        needs = {
            name: set(rng.sample(list(said), k=min(len(said), rng.choice([0, 0, 0, 1, 2]))))
            for name in said
        }
        lines = ["classes:"]
        for name, one in said.items():
            needs[name].discard(name)  # a function of its own inputs is another fault
            ways = [f"round({need}.v{need})" for need in sorted(needs[name])]
            lines.append(
                f"  {name}: {{parents: [{', '.join(one.parents)}], "
                f"properties: {{v{name}: any}}, depends: {{v{name}: [{', '.join(ways)}]}}}}"
            )
        rings = needs_itself(said, needs)
        if not rings:
            read_ontology("\n".join(lines))
            taken += 1
            continue
        with pytest.raises(FaultyOntology) as caught:
            read_ontology("\n".join(lines))
        assert {fault.code for fault in caught.value.faults} == {"ontology.function-cycle"}
        assert {fault.message.partition(" ")[0] for fault in caught.value.faults} <= rings
        refused += 1
    assert min(taken, refused) > 50, (taken, refused)
