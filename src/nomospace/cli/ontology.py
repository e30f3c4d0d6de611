"""`nomospace ontology`: the tools of those who write ontologies.

What a command found goes to stdout, why it could not go on to stderr. An ontology with faults is
exit code 2 wherever it is met; 1 is for warnings under `--strict`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from nomospace.cli.law import counted, finding_data
from nomospace.cli.remote_options import Commands, JsonOption, Unusable, print_json, usable

if TYPE_CHECKING:
    from nomospace.meaning.ontology import Dependence, Ontology
    from nomospace.meaning.reading import OntologyFault

app = Commands("Check, show and draw ontologies: YAML, Turtle, RDF/XML or JSON-LD.")

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A .yaml, .ttl, .rdf, .owl or .jsonld file.")
]


@dataclass(kw_only=True)
class OntologyOptions:
    """How an ontology is read, joined with another, and drawn."""

    svg: Annotated[str, typer.Option(metavar="OUT", help="Draw it into this file too.")] = ""
    join: Annotated[str, typer.Option(metavar="FILE", help="Join this ontology to it.")] = ""
    mapping: Annotated[
        str, typer.Option(metavar="FILE", help="How the two meet (with --join).")
    ] = ""
    functions: Annotated[
        str, typer.Option(metavar="FILE.py", help="Run this first: it registers functions.")
    ] = ""

    def load(self, file: str, warnings: list[OntologyFault] | None = None) -> Ontology:
        """The ontology of a file, joined with another's where one is named."""
        from nomospace.client.ontologies import examine_ontology, load_mapping
        from nomospace.meaning.mapping import OntologyMapping

        if self.functions:
            _register(self.functions)
        if self.mapping and not self.join:
            raise Unusable(what="--mapping", why="it says how two ontologies meet; add --join FILE")
        found = []
        for name in (file, self.join) if self.join else (file,):
            examined = examine_ontology(name)
            if examined.ontology is None:
                raise examined.faults.error()
            if warnings is not None:
                warnings += examined.faults.warnings
            found.append(examined.ontology)
        if not self.join:
            return found[0]
        mapping = load_mapping(self.mapping) if self.mapping else OntologyMapping("")
        return found[0].joined(found[1], mapping)

    def draw(self, ontology: Ontology, names: list[str] | None = None) -> None:
        """Draw it, or some classes of it, where that is wanted."""
        from nomospace.meaning.picture import draw

        if self.svg:
            with usable(self.svg, "cannot be written"):
                Path(self.svg).write_text(draw(ontology, names), encoding="utf-8")


def _register(name: str) -> None:
    """Run a file of the caller's that registers dependence functions."""
    from runpy import run_path

    try:
        run_path(name)
    except Exception as error:
        raise Unusable(
            what=name, why=f"running it raised {type(error).__name__}: {error}"
        ) from error


@app.command()
def check(
    file: FileArgument,
    *,
    as_json: JsonOption = False,
    options: OntologyOptions,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings too.")] = False,
) -> None:
    """Report everything wrong with an ontology, with its place; exit 2 when there is something."""
    from nomospace.meaning.reading import FaultyOntology

    errors: list[OntologyFault] = []
    warnings: list[OntologyFault] = []
    ontology = None
    try:
        ontology = options.load(file, warnings)
    except FaultyOntology as error:
        if not as_json:
            raise
        errors += error.faults
    if as_json:
        found = [*(("error", one) for one in errors), *(("warning", one) for one in warnings)]
        print_json(
            {
                "errors": len(errors),
                "warnings": len(warnings),
                **({} if ontology is None else _summary(ontology)),
                "findings": [
                    finding_data(one, severity, one.place.source, one.place.span)
                    for severity, one in found
                ],
            },
            indent=2,
        )
    elif ontology is not None:
        for warning in warnings:
            print(warning.render("warning"))
        told = _summary(ontology)
        counts = (
            counted(told["classes"], "class", "classes"),
            counted(told["functions"], "function"),
            counted(len(warnings), "warning"),
        )
        print(f"{ontology.name}: {', '.join(counts)}, sha256:{ontology.hash}")
    if ontology is None:
        raise typer.Exit(2)
    options.draw(ontology)
    if strict and warnings:
        raise typer.Exit(1)


_Facts: TypeAlias = dict[str, Any]


def _summary(ontology: Ontology) -> _Facts:
    functions = sum(len(ways) for c in ontology.classes.values() for ways in c.depends.values())
    return {
        "name": ontology.name,
        "hash": ontology.hash,
        "classes": len(ontology),
        "functions": functions,
    }


@app.command()
def show(
    file: FileArgument,
    *,
    class_name: Annotated[
        str, typer.Option("--class", metavar="NAME", help="Only this class and its relatives.")
    ] = "",
    as_json: JsonOption = False,
    options: OntologyOptions,
) -> None:
    """Show the classes as a tree, with their synonyms, properties and functions."""
    ontology = options.load(file)
    names = _family(ontology, class_name) if class_name else list(ontology.classes)
    if as_json:
        print_json(
            {
                "name": ontology.name,
                "hash": ontology.hash,
                "classes": [_class_data(ontology, name) for name in names],
            },
            indent=2,
        )
    else:
        print(f"{ontology.name}  sha256:{ontology.hash}")
        _print_tree(ontology, dict.fromkeys(names))
    options.draw(ontology, names)


def _family(ontology: Ontology, class_name: str) -> list[str]:
    """A class, its ancestors and descendants, and what its functions need."""
    canonical = _known(ontology, class_name)
    found = dict.fromkeys(
        (*ontology.ancestors(canonical), canonical, *ontology.descendants(canonical))
    )
    waiting = list(found)
    for name in waiting:  # grows as it is walked
        for ways in ontology.classes[name].depends.values():
            for need in (need for way in ways for need in way.inputs):
                if need not in found:
                    found[need] = None
                    waiting.append(need)
    return sorted(found)


def _known(ontology: Ontology, name: str) -> str:
    from nomospace.meaning.reading.faults import near

    canonical = ontology.canonical(name)
    if canonical is None:
        known = [one for c in ontology.classes.values() for one in c.names]
        help = near(name, known, "`nomospace ontology show` lists its classes")
        raise Unusable(what=name, why=f"no class of {ontology.name}; {help}")
    return canonical


def _print_tree(ontology: Ontology, shown: dict[str, None]) -> None:
    """The classes, parents first; one with several parents is told in full under the first."""
    told: dict[str, None] = {}
    roots = [n for n in shown if not any(up in shown for up in ontology.classes[n].parents)]
    waiting = [(name, "", "", "") for name in reversed(roots)]
    while waiting:
        name, lead, branch, below = waiting.pop()
        one = ontology.classes[name]
        also = f" ({', '.join(one.synonyms)})" if one.synonyms else ""
        if name in told:
            print(f"{lead}{branch}{name}, as above")
            continue
        told[name] = None
        kinds = ", ".join(f"{key}: {kind}" for key, kind in one.properties.items())
        print(f"{lead}{branch}{name}{also}{f'  [{kinds}]' if kinds else ''}")
        children = [child for child in ontology.children(name) if child in shown]
        inner = lead + below
        for key, ways in one.depends.items():
            for way in ways:
                print(f"{inner}{'│ ' if children else '  '}{key} = {_formula(way)}")
        for child in reversed(children):
            is_last = child == children[-1]
            waiting.append((child, inner, "└ " if is_last else "├ ", "  " if is_last else "│ "))


def _formula(way: Dependence) -> str:
    return f"{way.text} when {way.condition}" if way.when else way.text


def _class_data(ontology: Ontology, name: str) -> _Facts:
    one = ontology.classes[name]
    return {
        "name": one.name,
        "synonyms": list(one.synonyms),
        "parents": list(one.parents),
        "properties": dict(one.properties),
        "depends": {
            key: [{"function": way.text, "when": [str(tie) for tie in way.when]} for way in ways]
            for key, ways in one.depends.items()
        },
        "place": one.place,
    }


@app.command()
def closure(
    file: FileArgument,
    classes: Annotated[
        list[str] | None, typer.Argument(metavar="[CLASS]...", help="Only these classes.")
    ] = None,
    *,
    as_json: JsonOption = False,
    options: OntologyOptions,
) -> None:
    """Say what each class accepts and inherits, once everything is followed to its end."""
    ontology = options.load(file)
    names = [_known(ontology, name) for name in classes or ()] or list(ontology.classes)
    if as_json:
        print_json({name: _closed(ontology, name) for name in names}, indent=2)
    else:
        for name in names:
            told = _closed(ontology, name)
            print(name)
            rows = {
                "accepts": told["accepts"],
                "is a": told["ancestors"],
                "has": [f"{key}: {kind}" for key, kind in told["properties"].items()],
                "computes": [f"{k} = {way}" for k, ways in told["depends"].items() for way in ways],
            }
            for what, listed in rows.items():
                if listed:
                    print(f"  {what:<8}  {', '.join(listed)}")
    if options.svg:
        family = {one: None for name in names for one in _family(ontology, name)}
        options.draw(ontology, sorted(family))


def _closed(ontology: Ontology, name: str) -> _Facts:
    return {
        "accepts": sorted(ontology.accepted(name)),
        "ancestors": list(ontology.ancestors(name)),
        "properties": dict(ontology.properties(name)),
        "depends": {
            key: [_formula(way) for way in ways] for key, ways in ontology.depends(name).items()
        },
    }
