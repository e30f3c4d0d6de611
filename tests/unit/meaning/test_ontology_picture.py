"""The picture of an ontology: well-formed, nothing over anything else, parents above children."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path

import pytest

import nomospace as ns
from nomospace.meaning import picture
from nomospace.meaning.ontology import Ontology, OntologyClass
from nomospace.meaning.picture import PICTURE_CLASSES_MAX, PictureTooLarge, draw, layout as layouts
from nomospace.meaning.picture.layout import LayoutLine, Size, lay_out
from nomospace.meaning.reading import read_ontology

FILES = Path(__file__).parent / "ontologies"
SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(text: str) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, right and bottom of every box, by the first line of what it shows."""
    found = {}
    for group in ET.fromstring(text).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is not None:
            label = group.findtext(f"{SVG}text")
            assert label is not None
            x, y, width, height = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
            found[label] = (x, y, x + width, y + height)
    return found


def tree(depth: int) -> str:
    names = [f"N{number}" for number in range(2**depth - 1)]
    lines = [f"  {n}: {{parents: [N{(i - 1) // 2}]}}" for i, n in enumerate(names) if i]
    return "\n".join(["classes:", "  N0: {}", *lines])


@pytest.mark.parametrize("file", ["cars.yaml", "people.ttl", "teas.owl"])
def test_parents_are_above_and_no_boxes_touch(file: str) -> None:
    ontology = ns.Ontology.load(FILES / file)
    text = draw(ontology)
    boxes = boxes_of(text)
    assert set(ontology.classes) <= set(boxes)
    for name, one in ontology.classes.items():
        for parent in one.parents:
            assert boxes[parent][3] < boxes[name][1]
    for (_, a), (_, b) in combinations(boxes.items(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    parents = sum(len(one.parents) for one in ontology.classes.values())
    assert text.count('<path class="is"') == parents
    assert draw(ontology) == text


def test_synonyms_stand_under_the_name() -> None:
    many = ", ".join(f"s{i}" for i in range(7))
    text = draw(read_ontology(f"classes: {{Car: {{synonyms: [{many}]}}}}"))
    (group,) = [g for g in ET.fromstring(text).iter(f"{SVG}g") if g.get("class") == "class"]
    rows = [(row.text, float(row.attrib["y"])) for row in group.iter(f"{SVG}text")]
    assert [row[0] for row in rows] == ["Car", "s0", "s1", "s2", "s3", "and 3 more"]
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)


def test_functions_are_dotted_from_the_class_over_the_operator_to_its_inputs() -> None:
    text = draw(ns.Ontology.load(FILES / "cars.yaml"))
    boxes = boxes_of(text)
    operator = boxes["duration = minus"]
    assert boxes["ShippingDuration"][3] < operator[1]
    for name in ("Arrival", "Departure"):
        assert operator[3] < boxes[name][1]
    assert text.count('<path class="needs"') == 3
    assert re.search(r"\.needs \{ [^}]*stroke-dasharray", text)
    assert "when ShippingDuration.shippingID = Arrival.shippingID and" in text


def test_a_function_that_points_up_is_drawn_too() -> None:
    ontology = read_ontology("""
    classes:
      Vehicle: {properties: {mass: number}}
      Car: {parents: Vehicle, properties: {load: number}, depends: {load: 'plus(Vehicle.mass, 1)'}}
    """)
    boxes = boxes_of(draw(ontology))
    assert boxes["Vehicle"][3] < boxes["Car"][1] < boxes["load = plus"][1]


def test_colours_for_light_and_dark() -> None:
    text = draw(read_ontology("classes: {Car: {}}"))
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    rule = re.compile(r"^\.([\w ,.-]+) \{ (?:fill|stroke): #", re.MULTILINE)
    assert rule.findall(light) == rule.findall(dark)  # what has a colour by day has one by night
    assert len(rule.findall(light)) == 10
    assert "var(" not in text  # not every viewer knows variables


@pytest.mark.parametrize("palette", [picture._LIGHT, picture._DARK], ids=["light", "dark"])
def test_words_can_be_read_on_their_ground(palette: dict[str, str]) -> None:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for words, ground in [("ink", "back"), ("ink", "box"), ("soft", "box"), ("op-ink", "op")]:
        low, high = sorted((light(palette[words]), light(palette[ground])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (words, ground)  # the usual rule for text


def test_what_authors_write_is_text_and_nothing_else() -> None:
    nasty = "<script>alert('x')</script>&\"quoted\""
    ontology = Ontology(nasty, [OntologyClass(nasty, (nasty + "2",), properties={nasty: "any"})])
    text = draw(ontology)
    ET.fromstring(text)
    assert "<script" not in text


def test_a_part_of_an_ontology() -> None:
    cars = ns.Ontology.load(FILES / "cars.yaml")
    assert set(boxes_of(draw(cars, ["Car", "SportsCar"]))) == {"Car", "SportsCar"}
    assert ET.fromstring(draw(cars, [])) is not None


def test_a_picture_has_a_limit() -> None:
    many = Ontology("many", [OntologyClass(f"C{i}") for i in range(PICTURE_CLASSES_MAX + 1)])
    with pytest.raises(PictureTooLarge, match=r"1,001 classes are too many.*--class NAME"):
        draw(many)


def test_lines_of_a_tree_do_not_cross() -> None:
    text = draw(read_ontology(tree(5)))
    boxes = boxes_of(text)
    rows: dict[float, list[tuple[float, int]]] = {}
    for name, box in boxes.items():
        rows.setdefault(box[1], []).append((box[0], int(name[1:])))
    for row in rows.values():
        parents = [(number - 1) // 2 for _, number in sorted(row)]
        turns = [a for a, b in pairwise(parents) if a != b]
        assert len(turns) == len(set(parents)) - 1  # children of one parent stand side by side


def test_a_line_passes_the_boxes_between() -> None:
    size = Size(60, 30)
    plan = lay_out(
        dict.fromkeys("abcd", size),
        [
            LayoutLine("a", "b", "is"),
            LayoutLine("b", "c", "is"),
            LayoutLine("c", "d", "is"),
            LayoutLine("a", "d", "is"),
        ],
    )
    (way,) = [points for line, points in plan.lines if (line.upper, line.lower) == ("a", "d")]
    assert len(way) == 4
    for bend, name in zip(way[1:-1], "bc", strict=True):
        assert bend.y == plan.spots[name].y
        assert abs(bend.x - plan.spots[name].x) > size.width / 2


def test_bends_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "BENDS_MAX", 30)
    names = [f"n{i}" for i in range(40)]
    chain = [LayoutLine(a, b, "is") for a, b in pairwise(names)]
    far = [LayoutLine("n0", b, "is") for b in names[2:]]
    plan = lay_out(dict.fromkeys(names, Size(20, 10)), [*chain, *far])
    assert sum(len(points) - 2 for _, points in plan.lines) <= 30
    assert len(plan.lines) == len(chain) + len(far)
