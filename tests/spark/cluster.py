"""A standalone cluster from the pip package: a master and workers, as processes of this machine.

They listen on loopback only, on ports that the machine picks, and are ended by their ids.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pyspark

from nomospace.pipeline.java import find_java
from nomospace.pipeline.jobs.session import spark_home
from tests.nursery import end_with_parent

QUICK_TO_START: Final = (
    "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java's first compiler only, as nothing here runs for long enough to earn the second its keep; and
no second look at classes of jars whose hashes are in the lock.
"""
START_S: Final = 90.0
END_S: Final = 60.0
_CLASS: Final = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Cluster(NamedTuple):
    """Where the master is, where its workers write, and the processes, master first."""

    master: str
    folder: Path
    processes: list[subprocess.Popen[bytes]]

    def done(self) -> dict[str, int]:
        """How many tasks each worker has done so far, in all jobs."""
        return {
            worker.name: sum(
                log.read_bytes().count(b"Finished task") for log in worker.glob("app-*/*/stderr")
            )
            for worker in sorted(self.folder.glob("worker-*/"))
        }


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster with workers of one core each; all of it has ended when this is left."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        processes: list[subprocess.Popen[bytes]] = []

        def start(name: str, *words: str) -> Path:
            log = folder / f"{name}.log"
            environment = {
                **os.environ,
                "JAVA_HOME": str(find_java().home),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_HOME": str(spark_home({})),  # whatever this shell has
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "512m",
                "SPARK_WORKER_DIR": str(folder / name),
                "SPARK_DAEMON_JAVA_OPTS": "-Dspark.master.rest.enabled=false",
                "JDK_JAVA_OPTIONS": f"{QUICK_TO_START} -XX:+UseSerialGC",  # of executors too
            }
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [_CLASS, *words],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    preexec_fn=end_with_parent,  # noqa: PLW1509 (it calls the kernel and no more)
                )
            processes.append(process)
            stack.callback(_end, process)
            return log

        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = start("master", "org.apache.spark.deploy.master.Master", *place)
        found = _wait_for(log, rb"Starting Spark master at (spark://\S+)", processes[0])
        master = found.decode()
        # Until then it hears nobody, and who spoke in vain tries again only after many seconds.
        _wait_for(log, rb"(New state: ALIVE)", processes[0])
        worker = ("org.apache.spark.deploy.worker.Worker", *place, "-c", "1", "-m", "1g", master)
        logs = [start(f"worker-{number}", *worker) for number in range(workers)]
        for log, process in zip(logs, processes[1:], strict=True):
            _wait_for(log, rb"(Successfully registered with master)", process)
        yield Cluster(master, folder, processes)


def _wait_for(log: Path, pattern: bytes, process: subprocess.Popen[bytes]) -> bytes:
    """What a process says in its log, in the end."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        found = re.search(pattern, log.read_bytes())
        if found is not None:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"no {pattern!r} in {log}:\n{log.read_text(errors='replace')[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)
