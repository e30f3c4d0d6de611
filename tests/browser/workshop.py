"""A host for the law bench, the ontologies and the pipeline: two members, a space, a workshop."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from nomospace.cli.console import Workshop
from nomospace.client.ontologies import load_ontology
from nomospace.console.places.law_bench.state import FIRST_LAW
from nomospace.console.stage import Stages
from nomospace.law import load
from tests.browser.site import Servers

CARS = Path(__file__).parents[2] / "docs" / "examples" / "cars.yaml"
SENT = 5
"""How many messages ann sends; the law lets three of them pass."""


async def begin(servers: Servers) -> Stages:
    """Two members under the law that the bench begins with; one of them has talked."""
    (server,) = servers.values()
    law = load(FIRST_LAW)
    ann, bob = await server.host.agent("ann"), await server.host.agent("bob")
    await bob.adopt(law)
    member = await ann.adopt(law)
    for number in range(SENT):
        await member.send(f"hello({number})", to="bob@ward-1")
    await ann.space("market", shared=True, ontology=load_ontology(str(CARS)))
    workshop = Workshop(Path(server.config.host.store).parent / "runs")
    workshop.add(server)
    return Stages(bench=workshop.bench, pipeline=workshop.pipeline)


def take_pictures(page: Page, folder: Path, name: str) -> None:
    """A page as it is, light and dark."""
    for look, body in (("light", ".body--light"), ("dark", ".body--dark")):
        page.emulate_media(color_scheme="dark" if look == "dark" else "light")
        page.wait_for_selector(f"body{body}", state="attached")
        picture = folder / f"{name}-{look}.png"
        page.screenshot(path=picture, animations="disabled")
        assert picture.stat().st_size > 20_000
    page.emulate_media(color_scheme="light")


async def laws_of(servers: Servers, agent: str) -> list[str]:
    """The laws that an agent is under."""
    (server,) = servers.values()
    return [law.hash for law in server.host.core.laws_of(agent)]
