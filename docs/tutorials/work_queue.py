"""A work queue on three hosts with certificates: workers crash, hosts are restarted and killed.

`work_queue.py 2000` is the whole story with so many jobs; it starts its workers by itself.
"""

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections import Counter
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import nomospace as ns

PROGRAM = str(Path(__file__).resolve())
HOSTS = ("north", "south", "west")
NOMOSPACE = [sys.executable, "-m", "nomospace.cli"]
AT_ONCE = 4  # jobs that a worker has in hand
LEASE_S = 3.0
LIMIT_S = 600.0  # the story is told by then, or has failed
PACE = ["--heartbeat-ms", "200", "--loss-ms", "1000"]  # how soon hosts miss each other
SIGNALS = {"restarted": signal.SIGTERM, "killed": signal.SIGKILL}


def is_poison(number: int) -> bool:
    """A job that nobody can do."""
    return number % 100 == 13


def is_deadly(number: int) -> bool:
    """A job of which its first worker dies."""
    return number % 100 == 50


# -- a worker ------------------------------------------------------------------------------------


async def work(url: str, token: str) -> None:
    """Do jobs until killed, and say which are done."""
    async with ns.connect(url, token=token, trust="trust") as host:
        jobs = await (await host.agent("worker")).space("jobs", shared=True)
        await asyncio.gather(*(do_jobs(jobs) for _ in range(AT_ONCE)))


async def do_jobs(jobs: ns.Space) -> None:
    """One job after the other."""
    while True:
        try:
            async with jobs.take("job", int, dict, lease=LEASE_S) as job:
                _, number, what = job
                if is_poison(number):
                    raise ValueError(f"cannot print {what['pages']} pages")
                if is_deadly(number) and job.deliveries == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                await asyncio.sleep(0.01)  # the work
        except ValueError:
            continue  # the job is back in the space, with the reason
        except (ns.LeaseLapsed, ns.InDoubt) as late:
            print(type(late).__name__, number, flush=True)
        else:
            print("done", number, flush=True)


# -- processes -----------------------------------------------------------------------------------


def nomospace(*words: str) -> str:
    """What a command prints."""
    done = subprocess.run([*NOMOSPACE, *words], check=True, capture_output=True, timeout=60)
    return done.stdout.decode()


class Host:
    """A host in a process of its own; when it is started again, it is where it was."""

    def __init__(self, name: str, join: str = "") -> None:
        self.name = name
        self.join = ["--join", join] if join else []
        self.address = self.http = "127.0.0.1:0"
        self.begin()

    def begin(self) -> None:
        """Run it."""
        options = ["--listen", self.address, "--http", self.http, *self.join, *PACE, "--json"]
        with Path(f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*NOMOSPACE, "host", "run", self.name, "--trust", "trust", *options],
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def wait(self) -> None:
        """Until it serves."""
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        self.address, self.url = said["address"], said["url"]
        self.http = said["http"].removeprefix("https://")

    def end(self, how: int = signal.SIGTERM) -> None:
        """End it kindly, or by kill -9."""
        self.process.send_signal(how)
        self.process.communicate(timeout=60)

    def restart(self, how: int) -> None:
        """End it and run it again."""
        self.end(how)
        self.begin()
        self.wait()

    def metrics(self) -> dict[str, float]:
        """What Prometheus reads of the space `jobs`."""
        trust = ssl.create_default_context(cafile="trust/authority.pem")
        with urlopen(f"https://{self.http}/metrics", context=trust, timeout=60) as page:
            lines = page.read().decode()
        found = re.findall(
            r'^nomospace_(\w+){host="\w+",(.*)space="jobs"} (\S+)$', lines, re.MULTILINE
        )
        return {name + label: float(value) for name, label, value in found}

    def acknowledged(self) -> list[str]:
        """The ids of all jobs that were acknowledged here, from the journal."""
        lines = nomospace("journal", "export", "--store", f"{self.name}.db", "--table", "leases")
        rows = map(json.loads, lines.splitlines())
        return [row["tuple_id"] for row in rows if row["op"] == "acknowledged"]


class Workers:
    """A worker for each host; one that crashes is started again."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.crashes = 0

    async def keep(self, host: Host, token: str) -> None:
        """Have a worker run, and listen to it."""
        words = [sys.executable, PROGRAM, "work", host.url, token]
        while True:
            worker = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
            try:
                assert worker.stdout is not None
                async for line in worker.stdout:
                    self.said.append(line.decode().strip())
                self.crashes += 1
            except asyncio.CancelledError:
                worker.kill()
                raise
            finally:
                await worker.wait()

    async def wait_more(self) -> None:
        """Until another job is done."""
        count = len(self.said)
        while len(self.said) == count:
            await asyncio.sleep(0.01)


# -- the story -----------------------------------------------------------------------------------


async def produce(host: Host, token: str, numbers: range) -> None:
    """Write jobs at a host."""
    async with ns.connect(host.url, token=token, trust="trust") as there:
        jobs = await (await there.agent("producer")).space("jobs", shared=True)
        for number in numbers:
            await jobs.out("job", number, {"pages": number % 7})


async def dead_letters(host: Host, token: str, count: int) -> list[ns.Tuple]:
    """Take out what nobody could do, at whichever host it lies."""
    async with ns.connect(host.url, token=token, trust="trust") as there:
        dead = await (await there.agent("producer")).space("jobs.dead", shared=True)
        return [await dead.take("job", int, dict, timeout=60) for _ in range(count)]


def backlog(hosts: list[Host]) -> tuple[float, float, float]:
    """Jobs that wait, jobs at work, and for how long the oldest has waited: of all hosts."""
    read = [host.metrics() for host in hosts]
    waiting = sum(one["tuples"] - one["lent"] for one in read)
    return waiting, sum(one["lent"] for one in read), max(one["oldest_seconds"] for one in read)


def usual_wait(hosts: list[Host]) -> str:
    """Half of the jobs that were taken since the hosts' last starts had waited less, in seconds."""
    below: Counter[str] = Counter()
    for one in hosts:
        found = {n: v for n, v in one.metrics().items() if n.startswith("wait_seconds_bucket")}
        below.update({name.split('"')[1]: int(value) for name, value in found.items()})
    return next(bound for bound, count in below.items() if count >= below["+Inf"] / 2)


async def story(count: int) -> None:
    """Have all jobs done, whatever ends in between."""
    nomospace("trust", "init", *(f"--host={name}" for name in HOSTS))
    agents = [f"{role}@{name}" for name in HOSTS for role in ("producer", "worker")]
    token = nomospace("trust", "issue", "token", *agents).strip()
    north = Host(HOSTS[0])
    north.wait()
    south, west = (Host(name, north.address) for name in HOSTS[1:])
    south.wait()
    west.wait()
    hosts = [north, south, west]
    workers = Workers()
    keeping = [asyncio.create_task(workers.keep(host, token)) for host in hosts]
    ends = [(south, "killed"), *((host, "restarted") for host in hosts), (west, "killed")]
    poison = [number for number in range(count) if is_poison(number)]
    try:
        async with asyncio.timeout(LIMIT_S):
            for part, (host, how) in enumerate(ends):
                share = range(part * count // len(ends), (part + 1) * count // len(ends))
                writing = [produce(one, token, share[n::3]) for n, one in enumerate(hosts)]
                written = asyncio.gather(*writing)
                await workers.wait_more()
                await asyncio.to_thread(host.restart, SIGNALS[how])
                await written
                waiting, lent, age_s = backlog(hosts)
                print(f"{host.name} {how}: {waiting:.0f} wait, {lent:.0f} at work, {age_s:.1f} s")
            dead = await dead_letters(west, token, len(poison))
            while backlog(hosts)[:2] != (0, 0):
                await asyncio.sleep(0.05)
            wait = usual_wait(hosts)
    finally:
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
        await asyncio.gather(*(asyncio.to_thread(host.end) for host in hosts))
    journals = await asyncio.gather(*(asyncio.to_thread(host.acknowledged) for host in hosts))
    done = Counter(id for journal in journals for id in journal)
    told = Counter(line for line in workers.said if line.startswith("done"))
    assert len(done) == count - len(poison)  # none is lost
    assert max(*done.values(), *told.values()) == 1  # none is done twice
    assert sorted(letter[1] for letter in dead) == poison
    whys = {end.why for letter in dead for end in letter.history}
    late = len(workers.said) - len(told)
    print(f"{workers.crashes} workers crashed, {late} leases were over too soon or are in doubt")
    print(f"{len(done)} jobs were acknowledged once, none twice")
    print(f"half of the last ones had waited less than {wait} s")
    print(f"{len(dead)} are dead letters: {', '.join(sorted(whys))}")


if sys.argv[1] == "work":
    asyncio.run(work(*sys.argv[2:]))
else:
    with TemporaryDirectory() as folder, chdir(folder):
        asyncio.run(story(int(sys.argv[1])))
