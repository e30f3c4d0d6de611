"""What a console can do besides looking: try laws, and run the pipeline over journals.

The rooms that do this stand above the console, so it is handed to it (`console.stage`): a
`Workshop` knows the servers of this process, and makes both. Everything that takes long is done in
child processes (`children`), which end with what they were started for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nomospace.cli.console.bench import NoSuchServer, TrialBench
from nomospace.cli.console.pipeline import JobPipeline
from nomospace.console.stage import ALL_HOSTS

if TYPE_CHECKING:
    from nomospace.node.serve import Server

__all__ = ["Workshop"]


class Workshop:
    """The bench and the pipeline over the servers of this process.

    Runs keep their files and reports in `folder`; without one, where the machine has such files,
    until `close`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._servers: dict[str, Server] = {}
        self.bench = TrialBench(self._chosen)
        self.pipeline = JobPipeline(self._chosen, lambda: list(self._servers), folder)

    def add(self, server: Server) -> None:
        """A server whose journal may be looked at."""
        self._servers[server.config.host.name] = server

    def close(self) -> None:
        """Remove what runs have left."""
        self.pipeline.close()

    def _chosen(self, name: str) -> list[Server]:
        """The server of a name, or all of them."""
        if name == ALL_HOSTS:
            return list(self._servers.values())
        found = self._servers.get(name)
        if found is None:
            raise NoSuchServer(host=name, known=tuple(self._servers))
        return [found]
