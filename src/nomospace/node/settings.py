"""Tables of a host's configuration about what agents run, and about their spaces; see `config`."""

from __future__ import annotations

import msgspec


class ProgramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[programs]`: whose code the operator answers for, and what programs may have."""

    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    helpers: int = 8
    network: bool = False
    processes: int = 64
    memory_mb: int = 512
    listener_ms: int = 20


class Publisher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[publishers.NAME]`: whose bundles are run, and what they may do.

    They may be of any program where `programs` names none.
    """

    key: str
    programs: tuple[str, ...] = ()
    helpers: int = 8
    strong: bool = True
    network: bool = False


class SpaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[spaces]`: those that lie in the store, whoever opens them (`space.stored`), and
    the host's weight among the homes of partitioned ones (`protocols.homes`).
    """

    stored: tuple[str, ...] = ()
    capacity: float = 1.0
