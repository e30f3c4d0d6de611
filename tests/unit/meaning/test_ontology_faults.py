"""What an ontology's author is told: the place is marked «so» in each text."""

from __future__ import annotations

import re

import pytest

from nomospace.meaning import reading as files
from nomospace.meaning.ontology import CLASSES_MAX, Ontology
from nomospace.meaning.reading import FaultyOntology, closing, faults, naming, read_ontology
from nomospace.meaning.reading.depending import FORMULA_CHARS_MAX, TIES_MAX
from nomospace.meaning.reading.faults import FAULTS_MAX, OntologyFault

FUNCTION = """
classes:
  A: {properties: {x: number, i: string, o: P}, depends: {x: {function: "%s", when: "%s"}}}
  B: {properties: {x: number, i: string, p: P, z: any}}
  P: {properties: {y: number}}
"""


def _function(function: str = "plus(B.x, 1)", when: str = "A.i = B.i") -> str:
    return FUNCTION % (function, when)


def faults_of(marked: str, name: str = "x.yaml") -> tuple[OntologyFault, ...]:
    with pytest.raises(FaultyOntology) as caught:
        read_ontology(re.sub("[«»]", "", marked), name)
    return caught.value.faults


@pytest.mark.parametrize(
    ("code", "words", "marked"),
    [
        (
            "cycle",
            "A is under itself: A -> B -> C -> A",
            "classes:\n  A: {parents: «B»}\n  B: {parents: [C, D]}\n  C: {parents: A}\n  D: {}",
        ),
        ("cycle", "A is under itself: A -> A", "classes: {A: {synonyms: [S], parents: «S»}}"),
        (
            "unknown-class",
            "parent Carr is no class",
            "classes: {Car: {}, Van: {parents: [«Carr»]}}",
        ),
        (
            "unknown-class",
            "type nubmer is neither a class here nor a basic type",
            "classes: {Car: {properties: {price: «nubmer»}}}",
        ),
        (
            "duplicate",
            "synonym Auto already means Car (x.yaml:1:27)",
            "classes: {Car: {synonyms: Auto}, Van: {synonyms: «Auto»}}",
        ),
        (
            "duplicate",
            "synonym Van already means Van (x.yaml:1:33)",
            "classes: {Car: {synonyms: «Van»}, Van: {}}",
        ),
        ("duplicate", "Car stands here a second time", "classes: {Car: {}, «Car»: {}}"),
        (
            "duplicate",
            "price stands here a second time",
            "classes: {Car: {properties: {price: any, «price»: any}}}",
        ),
        (
            "type-conflict",
            "C.x would be number by A and string by B, and no value is both",
            (
                "classes: {A: {properties: {x: number}}, B: {properties: {x: string}}, "
                "«C»: {parents: [A, B]}, D: {parents: C}}"
            ),
        ),
        (
            "type-conflict",
            "B.x would be string here and number by A",
            "classes: {A: {properties: {x: number}}, B: {parents: A, properties: {x: «string»}}}",
        ),
        (
            "type-conflict",
            "D.x would be P by A and Q by B",
            (
                "classes: {A: {properties: {x: P}}, B: {properties: {x: Q}}, "
                "«D»: {parents: [A, B]}, P: {}, Q: {}}"
            ),
        ),
        ("function-cycle", "A needs itself to be computed: A -> B -> A", "CYCLE"),
        ("name", "'string' cannot name a class", "classes: {«string»: {}}"),
        ("name", "'int' cannot name a class", "classes: {Car: {synonyms: [«int»]}}"),
        ("name", "begins or ends with a space", "classes: {«' Car'»: {}}"),
        ("name", "cannot be printed", 'classes: {«"a\\tb"»: {}}'),
        ("name", "'a.b' cannot name a property", "classes: {Car: {properties: {«a.b»: any}}}"),
        ("name", "over 200 characters", f"classes: {{«{'x' * 201}»: {{}}}}"),
        ("form", "parent has no meaning here", "classes: {Car: {«parent»: Van}, Van: {}}"),
        ("form", "clases has no meaning here", "«clases»: {}"),
        ("form", "here should stand a mapping", "classes: «[»Car, Van]"),
        ("form", "here should stand a class", "classes: {A: {parents: [«[»B]]}, B: {}}"),
        ("form", "no `function:` here", "classes: {A: {properties: {x: any}, depends: {x: «{»}}}}"),
        ("form", "anchors and aliases are not taken", "classes: {A: «&x {»}, B: *x}"),
        ("form", "anchors and aliases are not taken", "classes: {A: «*x»}"),
        ("form", "a key must be a name", "classes: {«[»A]: {}}"),
        ("form", "a second document begins here", "classes: {}\n«---»\nclasses: {}"),
        ("limit", "nested over 12 deep", "classes: " + "[" * 11 + "«[»"),
        ("syntax", "this is no YAML", "classes:\n  A: {parents: [B\n  C«:» {}\n"),
        ("syntax", "this is no YAML", "classes:\n«\t»A: {}\n"),
        ("syntax", "the character 0x7 may not stand in YAML", "classes: {A«\x07»: {}}"),
        ("import", "nobody to fetch it", "imports: [«base.ttl»]"),
        ("unknown-function", "there is no function plsu", _function("«plsu»(B.x, 1)")),
        ("arity", "plus takes 2 to 16 inputs, not 1", _function("«plus»(B.x)")),
        ("arity", "minus takes 2 inputs, not 3", _function("«minus»(B.x, 1, 2)")),
        ("unknown-class", "BB is no class here", _function("plus(«BB».x, 1)")),
        ("unknown-property", "B has no property q", _function("plus(«B.q», 1)")),
        ("unknown-property", "P has no property q", _function("plus(«B.p.q», 1)")),
        ("unknown-property", "number has no property", _function("plus(«B.x.y», 1)")),
        ("function", "`minus(` is a function in a function", _function("plus(«minus»(B.x, 1), 1)")),
        ("function", "A.i is a property of the computed object", _function("plus(«A.i», B.x)")),
        ("function", "no input of this function", _function("«plus»(1, 2)")),
        ("function", "`B` names no property", _function("plus(«B», 1)")),
        ("function", "here should stand `(`", _function("plus «B»")),
        ("function", "here should stand `)`", _function("plus(B.x, 1 «2»)")),
        ("function", "here should stand the end", _function("plus(B.x, 1) «when»")),
        ("function", "`+` has no meaning in a function", _function("plus(B.x «+» 1, 2)")),
        ("function", "this number is too large", _function("plus(B.x, «1e999»)")),
        ("when", "not `or`", _function(when="A.i = B.i «or» B.x = 1")),
        ("when", "not the end", _function(when="A.i =").replace(' ="', ' =«"»')),
        ("when", "here should stand a comparison", _function(when="A.i").replace('A.i"', 'A.i«"»')),
        (
            "when",
            "here should stand a comparison",
            _function(when="A.i = B.i and B.x «and» B.x = 1"),
        ),
        ("when", "this compares two values", _function(when="A.i = B.i and «1» = 2")),
        ("when", "nothing gives A.i a value", _function(when="«A.i» < B.i")),
        ("when", "nothing gives A.i a value", _function(when="«A.i» = A.i")),
        ("when", "A.x is computed by a function of its own", _function(when="«A.x» = B.x")),
        ("when", "lies inside a property", _function(when="«A.o.y» = B.x")),
        ("unknown-property", "A has no property q", _function(when="«A.q» = B.i")),
        ("unknown-class", "C is no class here", _function(when="«C».q = B.i")),
    ],
)
def test_a_fault_and_its_place(code: str, words: str, marked: str) -> None:
    if marked == "CYCLE":
        marked = """
        classes:
          A: {properties: {x: number}, depends: {x: «'plus(B.x, 1)'»}}
          B: {properties: {x: number}, depends: {x: ['plus(C.x, 1)', 'plus(A.x, 1)']}}
          C: {properties: {x: number}}
        """
    fault = faults_of(marked)[0]
    assert (fault.code, words in fault.message) == (f"ontology.{code}", True), fault.message
    start = marked.index("«")
    assert (fault.place.start, fault.place.end) == (start, marked.index("»") - 1)
    rendered = fault.render()
    line = marked.count("\n", 0, start) + 1
    assert rendered.startswith(f"x.yaml:{line}:")
    assert "^" in rendered
    assert fault.help, "what to do is part of it"


def test_a_fault_as_it_is_read() -> None:
    with pytest.raises(FaultyOntology) as caught:
        read_ontology("classes:\n  SportsCar: {parents: [Carr]}\n  Car: {}\n", "cars.yaml")
    assert str(caught.value).splitlines() == [
        "cars.yaml:2:25: error [ontology.unknown-class] parent Carr is no class here",
        "  2 |   SportsCar: {parents: [Carr]}",
        "    |                         ^^^^",
        "      help: did you mean Car?",
    ]


def test_all_faults_are_told_at_once_up_to_a_limit() -> None:
    parents = ", ".join(f"No{i}" for i in range(FAULTS_MAX + 7))
    with pytest.raises(FaultyOntology) as caught:
        read_ontology(f"classes: {{A: {{parents: [{parents}]}}, B: {{synonyms: A}}}}", "x.yaml")
    assert len(caught.value.faults) == FAULTS_MAX
    assert str(caught.value).endswith("... and 8 more")


def test_every_ring_of_parents_is_told_once() -> None:
    found = faults_of("""
    classes:
      A: {parents: B}
      B: {parents: [A, C]}
      C: {parents: D}
      D: {parents: C}
      E: {parents: [A, F]}
      F: {}
    """)
    assert [fault.message.partition(": ")[2] for fault in found] == ["A -> B -> A", "C -> D -> C"]


def test_a_function_that_is_inherited_by_its_own_input_is_a_ring() -> None:
    (fault,) = faults_of("""
    classes:
      Vehicle: {properties: {load: number}, depends: {load: 'plus(Truck.tare, 1)'}}
      Truck: {parents: Vehicle, properties: {tare: number}}
    """)
    assert fault.message == "Truck needs itself to be computed: Truck -> Truck"


def test_a_class_named_by_a_tie_alone_can_close_a_ring_too() -> None:
    (fault,) = faults_of("""
    classes:
      A: {properties: {x: number}, depends: {x: {function: 'plus(B.x, 1)', when: B.x = C.x}}}
      B: {properties: {x: number}}
      C: {properties: {x: number}, depends: {x: 'plus(A.x, 1)'}}
    """)
    assert fault.code == "ontology.function-cycle"


def test_a_function_that_yaml_cut_at_its_comma() -> None:
    two = "B: {properties: {x: any}}"
    text = f"classes: {{A: {{properties: {{x: any}}, depends: {{x: plus(B.x, 1)}}}}, {two}}}"
    fault = faults_of(text)[0]
    assert fault.message == "here should stand `)` or a comma, not the end"
    assert "put the function in quotes" in fault.help


def test_a_path_through_a_property_of_any_type_is_taken() -> None:
    found = read_ontology(_function("plus(B.z.deep.down, 1)"))
    assert found.depends("A")["x"][0].text == "plus(B.z.deep.down, 1)"


def test_the_place_of_a_folded_text_is_the_whole_of_it() -> None:
    (fault,) = faults_of(
        "classes:\n  A:\n    properties: {x: number}\n    depends:\n      x: >\n        plus(B.x,\n"
        "        1)\n"
    )
    assert fault.place.where == "x.yaml:5:10"


@pytest.mark.parametrize("text", ["", "# nothing\n", "classes:\n", "classes: {}\n", "~"])
def test_an_empty_file_is_an_empty_ontology(text: str) -> None:
    assert len(read_ontology(text, "x.yaml")) == 0


def test_values_are_the_texts_that_they_are_written_as() -> None:
    found = read_ontology("classes: {no: {}, 007: {}, 1e3: {}, 2024-01-01: {}, Yes: {}}", "x.yaml")
    assert list(found.classes) == ["007", "1e3", "2024-01-01", "Yes", "no"]


# Limits.


def test_limits_of_names_and_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    long = _function("plus(B.x, %s)" % ("1" * FORMULA_CHARS_MAX))
    assert "characters is over" in faults_of(long)[0].message
    ties = " and ".join(["A.i = B.i"] * (TIES_MAX + 1))
    assert f"over {TIES_MAX} comparisons" in faults_of(_function(when=ties))[0].message
    monkeypatch.setattr(naming, "NAMES_MAX", 2)
    (fault,) = faults_of("classes: {A: {synonyms: [b, c, d]}}")
    assert fault.message == "A has over 2 synonyms"
    monkeypatch.setattr(naming, "PARENTS_MAX", 1)
    (fault,) = faults_of("classes: {A: {parents: [b, c]}, b: {}, c: {}}")
    assert fault.message == "A has over 1 parents"
    monkeypatch.setattr(naming, "PROPERTIES_MAX", 1)
    (fault,) = faults_of("classes: {A: {properties: {b: any, c: any}}}")
    assert fault.message == "A declares over 1 properties"


def test_limit_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CLASSES_MAX == 100_000
    for room in (closing, naming):
        monkeypatch.setattr(room, "CLASSES_MAX", 3)
    assert len(read_ontology("classes: {A: {}, B: {}, C: {}}")) == 3
    (fault,) = faults_of("classes: {A: {}, B: {}, C: {}, D: {}}")
    assert fault.code == "ontology.limit"
    (fault,) = faults_of("classes: {A: {}, B: {}, C: {}, D: {}, E: {}, F: {}, G: {}}")
    assert fault.code == "ontology.limit"


def test_limits_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str) -> bytes:
        number = int(name.removesuffix(".yaml"))
        return f"imports: ['{number + 1}.yaml']".encode()

    def read(data: bytes | str) -> Ontology:
        return read_ontology(data, "0.yaml", fetch=fetch)

    with pytest.raises(FaultyOntology, match="files import each other over 16 deep"):
        read("imports: [1.yaml]")
    monkeypatch.setattr(files, "IMPORT_DEPTH_MAX", 1_000)
    with pytest.raises(FaultyOntology, match="files import each other and are over 256"):
        read("imports: [1.yaml]")
    monkeypatch.setattr(files, "ALL_BYTES_MAX", 30)
    with pytest.raises(FaultyOntology, match="over 30 bytes"):
        read("imports: [1.yaml]")
    monkeypatch.setattr(files, "FILE_BYTES_MAX", 10)
    with pytest.raises(FaultyOntology, match="17 bytes are over 10"):
        read("imports: [1.yaml]")


def test_limit_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "STEPS_MAX", 100)
    chain = [f"  C{i}: {{parents: [C{i - 1}]}}" for i in range(1, 60)]
    text = "\n".join(["classes:", "  C0: {properties: {x: %s}}", *chain, "  %s"])
    assert len(read_ontology(text % ("number", "In: {properties: {n: number}}"))) == 61
    several = "Z: {parents: C59, properties: {x: integer}}"
    assert len(read_ontology(text % ("number", several))) == 61
    monkeypatch.setattr(faults, "STEPS_MAX", 50)
    (fault,) = faults_of(text % ("number", several))
    assert fault.message == "to check it takes over 50 steps from class to parent"
    computed = "Z: {parents: C59, depends: {x: 'round(In.n)'}}\n  In: {properties: {n: number}}"
    (fault,) = faults_of(text % ("number", computed))
    assert fault.code == "ontology.limit"


def test_a_ring_of_classes_whose_names_are_bad() -> None:
    codes = [fault.code for fault in faults_of("classes: {string: {parents: [string]}}")]
    assert codes == ["ontology.name", "ontology.cycle"]


def test_many_faults_are_found_quickly() -> None:
    """The nearest name is looked for a few times only, and rings are not followed for ever."""
    names = [f"Class{i}" for i in range(2_000)]
    unknown = ", ".join(f"Klass{i}" for i in range(2_000))
    lines = [f"  {name}: {{}}" for name in names]
    with pytest.raises(FaultyOntology) as caught:
        read_ontology("\n".join(["classes:", *lines, f"  Last: {{parents: [{unknown}]}}"]))
    helps = [fault.help for fault in caught.value.faults]
    assert sum(help.startswith("did you mean") for help in helps) == faults.NEAR_MAX
    assert caught.value.more == 2_000 - FAULTS_MAX
    every = ", ".join(names[:90])
    rings = [f"  {name}: {{parents: [{every}]}}" for name in names[:20]]
    with pytest.raises(FaultyOntology) as caught:
        read_ontology("\n".join(["classes:", *rings, *lines[20:]]))
    assert {fault.code for fault in caught.value.faults} == {"ontology.cycle"}
