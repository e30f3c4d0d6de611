"""Counts of a host against an audit of its whole journal, after rulings and two restarts.

    python -m tests.real.counted --rulings 200000

Two agents talk under a law that forwards, holds and refuses; the host is a process of its own,
which is killed in between and started again. Its counts are then asked for over HTTP, and every
record of its journal is sealed and audited.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import nomospace as ns
from nomospace.calls.problems import Refused
from nomospace.law import load

LAW: Final = load(
    """
    law(counted).
    initialCS([]).
    R1. sent(_, go(_), _) :- do(forward).
    R2. sent(_, keep(_), _) :- not(kept@CS), do(+kept).
    R3. sent(_, keep(_), _) :- do(-kept).
    R4. sent(_, back(N), _) :- do(deliver(Self, back(N), Self)).
    R5. arrived(_, _, _) :- do(deliver).
    R6. sent(_, never, _) :- do(forward).
    """
)
WORDS: Final = ("go", "keep", "back", "go", "none")
AT_ONCE: Final = 200
START_S: Final = 120.0


class RunningHost:
    """A host called `ward` that keeps everything in a folder."""

    def __init__(self, folder: Path) -> None:
        words = ["--insecure", "--listen", "127.0.0.1:0", "--api", "127.0.0.1:0", "--json"]
        store = ["--store", str(folder / "ward.db"), "--segments", str(folder / "journal")]
        command = [sys.executable, "-m", "nomospace.cli", "host", "run", "ward", *words, *store]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.line: dict[str, str] = json.loads(self.process.stdout.readline())

    def end(self, number: int = signal.SIGTERM) -> None:
        os.kill(self.process.pid, number)
        self.process.communicate(timeout=START_S)

    def ask(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.line['api_token']}"}
        with urlopen(Request(f"{self.line['api']}{path}", headers=headers)) as answer:
            return json.load(answer)


async def talk(url: str, messages: int) -> None:
    """So many messages, of all kinds, some hundred under way."""
    async with ns.connect(url) as host:
        ann = await (await host.agent("ann")).adopt(LAW)
        await (await host.agent("bob")).adopt(LAW)

        async def send(number: int) -> None:
            with suppress(Refused):
                await ann.send(f"{WORDS[number % len(WORDS)]}({number})", to="bob@ward")

        for start in range(0, messages, AT_ONCE):
            lot = range(start, min(messages, start + AT_ONCE))
            await asyncio.gather(*[send(number) for number in lot])


def audited(folder: Path) -> Any:
    """What an audit says of the whole journal, all of it sealed."""
    run = [sys.executable, "-m"]
    seal = ["nomospace.store.segments", "--store", str(folder / "ward.db"), "--seconds", "0"]
    subprocess.run([*run, *seal, "--into", str(folder / "journal"), "--keep"], check=True)
    audit = ["nomospace.cli", "pipeline", "audit", str(folder / "journal"), "--engine", "duckdb"]
    said = subprocess.run([*run, *audit, "--json"], check=True, capture_output=True)
    return json.loads(said.stdout)


def counted(folder: Path, rulings: int) -> tuple[dict[str, int], dict[str, int]]:
    """What a host has counted, and what an audit counts, after two restarts."""
    each = max(1, round(rulings / 1.4 / 3))  # two of five messages arrive
    law: Any = None
    for number in range(3):
        host = RunningHost(folder)
        asyncio.run(talk(host.line["url"], each))
        law = host.ask(f"/v1/laws/{LAW.hash}")
        host.end(signal.SIGKILL if number == 0 else signal.SIGTERM)
    mine = {rule["name"]: rule["hits"] for rule in law["rules"]}
    mine |= {"rulings": law["rulings"], "uncounted": law["uncounted"]}
    mine["refused"] = sum(rule["refused"] for rule in law["rules"]) + law["unmatched_sent"]
    told = audited(folder)["tables"]
    theirs = {one["rule"]: one["hits"] for one in told["coverage"]}
    theirs |= {"rulings": told["overview"][0]["events"], "uncounted": 0}
    theirs["refused"] = sum(one["refused"] for one in told["reasons"])
    return mine, theirs


def main() -> int:
    """Compare, and say so."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.counted")
    parser.add_argument("--rulings", type=int, default=200_000)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = counted(Path(folder), given.rulings)
    print("host :", json.dumps(mine))
    print("audit:", json.dumps(theirs))
    same = mine == theirs
    took = f"{time.monotonic() - began:.0f} s"
    word = "equal" if same else "NOT EQUAL"
    print(f"{word} after {mine['rulings']:,} rulings and two restarts, {took}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
