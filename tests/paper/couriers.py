"""The code that a publisher brings to hosts elsewhere, in `test_002_4_2_programs`."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from nomospace.trust.bundles import PublisherKey, sign_archive
from nomospace.trust.keys import SecretKey


def leading_out(key: Path) -> bytes:
    """A bundle with a path outside itself, which no command of ours would sign."""
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        file.writestr("couriers/__init__.py", COURIER)
        file.writestr("../../host.key", "mine")
    secret = SecretKey.from_pem(key.read_bytes()).loaded.private_bytes_raw()
    return sign_archive("courier", "couriers", archive.getvalue(), PublisherKey("acme", secret))


COURIER = '''
import os
from pathlib import Path

import msgspec
import nomospace as ns


class Round(msgspec.Struct):
    stops: list[str] = []
    secret: str = ""


@ns.program("courier")
class Courier(ns.Program[Round]):
    async def run(self):
        desk = await self.agent.space("desk", shared=True)

        def promote(job, source, handle):
            if handle.space.take_nowait("job", job[1]) is not None:
                handle.space.out("urgent", job[1], self.host)

        reaction = desk.react(("job", int), promote, strength="strong", at=self.host)
        await reaction.wait_registered()
        scout = await self.helper("scout")
        seen = await (scout.space("desk", shared=True))
        await seen.out("scouted", scout.id, secrets_of(self.state.secret))
        await desk.out("here", self.host, self.origin)
        await desk.take("go", self.host)
        if self.state.stops:
            await self.move(self.state.stops.pop(0))
        await desk.out("done", self.host)


def secrets_of(file):
    """What it can read of its host: its files, and its environment."""
    found = [name for name in os.environ if name.startswith("NOMOSPACE")]
    try:
        found.append(Path(file).read_text()[:20])
    except OSError as error:
        found.append(type(error).__name__)
    return ", ".join(found)


@ns.program("slow")
class Slow(ns.Program[Round]):
    async def run(self):
        import time
        desk = await self.agent.space("desk", shared=True)
        slow = desk.react(("slow", int), lambda *_: time.sleep(60), strength="strong", at=self.host)
        await slow.wait_registered()
        await desk.out("here", self.host, self.origin)
        await desk.take("never")


@ns.program("unborn")
class Unborn(ns.Program[Round]):
    def __init__(self):
        raise KeyError("no such ward")

    async def run(self): ...
'''
