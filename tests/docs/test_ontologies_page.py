"""The page about ontologies says what the code does: its limits, codes, functions and picture."""

import re

import pytest

from nomospace.client.ontologies import load_ontology
from nomospace.meaning import functions, ontology, picture, reading
from nomospace.meaning.functions import FUNCTIONS, Functions
from nomospace.meaning.reading import depending, faults, naming
from tests.repo.rooms import PACKAGE, ROOT

TEXT = (ROOT / "docs" / "meaning" / "ontologies.md").read_text("utf-8")
LIMITS = {
    "classes": ontology.CLASSES_MAX,
    "bytes of a file": reading.FILE_BYTES_MAX,
    "bytes of all files": reading.ALL_BYTES_MAX,
    "files": reading.FILES_MAX,
    "depth of imports": reading.IMPORT_DEPTH_MAX,
    "characters of a name": naming.NAME_CHARS_MAX,
    "synonyms of a class": naming.NAMES_MAX,
    "parents of a class": naming.PARENTS_MAX,
    "properties that a class declares": naming.PROPERTIES_MAX,
    "inputs of a function": functions.ARITY_MAX,
    "comparisons of a `when`": depending.TIES_MAX,
    "characters of a function or a `when`": depending.FORMULA_CHARS_MAX,
    "classes of a picture": picture.PICTURE_CLASSES_MAX,
    "faults told at once": faults.FAULTS_MAX,
    "steps from class to parent while checking": faults.STEPS_MAX,
    "registered functions": functions.FUNCTIONS_MAX,
    "names kept in closed sets": ontology.CLOSED_NAMES_MAX,
}


def test_limits() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \|$", TEXT.partition("## Limits")[2], re.MULTILINE)
    assert dict(rows) == {what: f"{value:,}" for what, value in LIMITS.items()}


def test_every_code_has_its_row() -> None:
    told = re.findall(r"^\| `ontology\.([a-z-]+)` \|", TEXT, re.MULTILINE)
    code = re.compile(r"(?:faults\.|\.)(?:add|stop|warn|unknown|_report)\(\s*\"([a-z-]+)\"")
    rooms = [*(PACKAGE / "meaning" / "reading").glob("*.py"), PACKAGE / "meaning" / "mapping.py"]
    used = {found for path in rooms for found in code.findall(path.read_text("utf-8"))}
    assert set(told) == used
    assert len(told) == len(used)


@pytest.mark.parametrize("name", Functions())
def test_every_built_in_function_has_its_row(name: str) -> None:
    (row,) = re.findall(rf"^\| .*`{name}`.* \| (.+) \| .+ \|$", TEXT, re.MULTILINE)
    high = FUNCTIONS[name].arity_max
    assert row.startswith(("2 to 16", "2 numbers", "a number, and digits"))
    assert row.startswith("2 to 16") is (high == 16)


def test_every_basic_type_is_named() -> None:
    (row,) = re.findall(r"^\| `properties` \|.*$", TEXT, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == {"properties", *ontology.BASIC_TYPES}


def test_the_picture_is_of_the_example() -> None:
    drawn = picture.draw(load_ontology(ROOT / "docs" / "examples" / "cars.yaml"))
    assert (ROOT / "docs" / "meaning" / "cars.svg").read_text("utf-8") == drawn, (
        "run ./nomospace ontology show docs/examples/cars.yaml --svg docs/meaning/cars.svg"
    )
