"""What a console can do besides looking: try laws, and run the pipeline over journals.

The rooms that do this stand above the console, so it is handed to it (`console.stage`): a
`Workshop` knows the servers of this process, and makes both. Everything that takes long is done in
child processes (`children`), which end with what they were started for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nomospace.cli.console.bench import TrialBench
from nomospace.cli.console.pipeline import JobPipeline

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
        self.bench = TrialBench(self._servers)
        self.pipeline = JobPipeline(self._servers, folder)

    def add(self, server: Server) -> None:
        """A server whose journal may be looked at."""
        self._servers[server.config.host.name] = server

    def close(self) -> None:
        """Remove what runs have left."""
        self.pipeline.close()
