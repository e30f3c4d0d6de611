"""Partitioned spaces: each tuple is at home at the host that its key names.

LIME's misplaced tuples are the mechanism; only the destination is computed. Every host that shares
a partitioned space has a *keeper* of its share, a resident that no program speaks for. Whatever is
written there is held by the keeper of the writer's host and is for the keeper of the key's home
(`protocols.homes`), so `placing` moves it as it moves all that is for somebody elsewhere, exactly
once, now or when there is room. The keeper goes on sharing when the agents here have left.

The homes of a space are the hosts of the installed view whose keeper shares it with the same tie,
by their capacity. When they change, each host looks through what it holds, some tuples in each
step, and lets those move that are at home elsewhere now, a bounded share at a time. It tells in its
lines of the directory for which homes it holds nothing of that kind: it is *settled* for them. An
operation whose template says the key goes to the home, and to each host that has not said that it
is settled for the very homes that the asking host knows. At rest that is one host.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from nomospace.calls.partition import untied
from nomospace.host.calls import Drain
from nomospace.host.changes import Durable, SmallKept
from nomospace.host.part import GroupFollower
from nomospace.host.residents import Interface, Level, ShareLines, is_keeper, keeper_of
from nomospace.host.shares import TooManySpaces, few_bytes
from nomospace.protocols.homes import Homes
from nomospace.protocols.spaces import DirectoryChanged
from nomospace.space import Record
from nomospace.terms import MISSING, Template

if TYPE_CHECKING:
    from nomospace.host.ports import HostParts

SWEPT_IN_STEP: Final = 256
"""How many tuples one step looks at when the homes of a space have changed."""
UNDER_WAY_MAX: Final = 512
"""How many tuples that move home may be under way to a peer: what agents do goes on beside."""
NAMED: Final = 16
"""How many homes a note names."""
HOMES_MAX: Final = 64
"""How many sets of homes are remembered: many spaces have the same."""
ShareState: TypeAlias = tuple[str, tuple[str, ...], int, bool, tuple[str, ...], tuple[str, ...]]
"""By what a space is partitioned, who has a share, how many tuples here are at home elsewhere,
whether this host is settled, which others are not, and which have it partitioned otherwise."""
DRAINED: Final = "partition.drained"
"""Where a host keeps that it is drained."""


class Partitioning(GroupFollower):
    """The shares of partitioned spaces that one host keeps."""

    def __init__(self, host: HostParts, capacity: float, durable: Durable) -> None:
        super().__init__(host)
        self.keeper = keeper_of(self._step.name)
        self.capacity = capacity
        self.drained = DRAINED in durable.small
        self.unannounced: dict[str, None] = {}
        """Spaces that are not settled, or of which the peers may not know it."""
        self._told: dict[str, int] = {}
        self._told_weight = self.weight
        self._homes: dict[tuple[tuple[str, float], ...], Homes] = {}
        self._paused: dict[str, None] = {}
        """Peers to which as much is under way as may be."""

    @property
    def weight(self) -> float:
        """What this host counts for among the homes."""
        return 0.0 if self.drained else self.capacity

    # -- keys --------------------------------------------------------------------------------

    def sites(self, level: Level, template: Template) -> dict[str, None] | None:
        """The hosts that may hold a match, its home first; `None` where the key is left open."""
        part = level.partition
        assert part is not None, "it is asked about spaces that are partitioned"
        key = part.key.of_template(template)
        if key is MISSING:
            return None
        sites: dict[str, None] = {part.homes.home(key): None}
        if not self._is_settled(level):
            sites[self._step.name] = None
        sites.update(dict.fromkeys(part.unsettled))
        return sites

    def watched(self, name: str, template: Template) -> dict[str, None] | None:
        """The hosts where a reaction may meet something; `None` for all that share the space."""
        level = self._spaces.levels.get(name)
        if level is None or level.partition is None:
            return None
        return self.sites(level, template)

    # -- where tuples belong -----------------------------------------------------------------

    def aim(self, level: Level, record: Record) -> None:
        """Let the keeper hold a tuple that lies nowhere now, for the keeper of its home."""
        record.cur = self.keeper
        record.dest = self._home_of(level, record)

    def aim_again(self, level: Level, record: Record) -> None:
        """The same for one that lies here."""
        dest = self._home_of(level, record)
        if record.cur != self.keeper:  # of an agent that shared it when this host went down
            level.space.readdress(record, self.keeper)
            self._host.placing.move_home(level, record)
        if record.order > 0 and record.dest != dest:
            level.space.readdress(record, dest)

    def _home_of(self, level: Level, record: Record) -> str:
        part = level.partition
        assert part is not None, "it is partitioned"
        key = part.key.of_tuple(record.fields)
        return self.keeper if key is MISSING else keeper_of(part.homes.home(key))

    # -- sharing -----------------------------------------------------------------------------

    def check_room(self, name: str) -> None:
        """Raise `TooManySpaces` when the keeper, which never parts, has as many as it may."""
        resident, limit = self._spaces.residents.get(self.keeper), self._step.shares.kept_spaces
        if resident is not None and len(resident.spaces) >= limit and name not in resident.spaces:
            what = "the number of partitioned spaces at this host"
            advice = "tell apart by a field what is in one space, or have kept_spaces raised"
            raise TooManySpaces(what=what, limit=limit, advice=advice)

    def keep(self, interface: Interface) -> None:
        """An agent here shares a partitioned space: from now on the keeper does, too."""
        holding, name = self._host.holding, interface.name
        resident = self._spaces.residents.get(self.keeper)
        if resident is None:
            resident = holding.enter(self.keeper)
        mine = resident.spaces.get(name)
        if mine is None or mine.tie != interface.tie:
            mine = holding.make_interface(resident, name, interface.tie, durable=interface.durable)
        elif interface.durable and not mine.durable:
            mine.durable = True
            self._step.opened(self.keeper, mine)
        if not mine.shared:
            holding.share(resident, (name,), shared=True)
            self._refresh_all((name,))

    def restore(self) -> None:
        """Begin with what an earlier life has left: nothing of it was looked at yet."""
        for level in self._levels():
            self._refresh(level, anew=True)

    def _levels(self, names: Iterable[str] | None = None) -> list[Level]:
        levels = self._spaces.levels
        some = levels.values() if names is None else [levels[one] for one in names if one in levels]
        return [one for one in some if one.partition is not None and self.keeper in one.sharers]

    def _refresh_all(self, names: Iterable[str]) -> None:
        """This host has changed what the homes are: who waits may have to wait elsewhere."""
        for level in self._levels(names):
            self._refresh(level)
        self._host.seeking.follow(names, ())
        self._host.reacting.follow(names, ())

    def _refresh(self, level: Level, *, anew: bool = False) -> None:
        """See who the homes of a space are now, and who of them is settled."""
        part = level.partition
        assert part is not None, "it is partitioned"
        entries = self._host.group.entries
        weights = {self._step.name: self.weight}
        for peer, lines in entries.items():
            if lines.shares(level.name, level.law, ontology=level.ontology):  # so its keeper does
                weights[peer] = lines.capacity
        homes = self._homes_of(weights)
        begun = part.swept or part.sweeping
        if anew or not begun or homes.digest != part.homes.digest:
            part.homes = homes
            self._sweep(level)
            held, some = len(level.space), homes.hosts[:NAMED]  # who has parted keeps what it holds
            self._step.note("homes", space=level.name, of=len(homes.hosts), some=some, held=held)
        name, digest = level.name, homes.digest
        others = [peer for peer in homes.hosts if peer != self._step.name]
        part.unsettled = tuple([p for p in others if entries[p].settled.get(name) != digest])
        self.unannounced[name] = None
        apart = self._apart(level)
        if apart != part.apart:
            part.apart = apart
            for peer in apart:
                self._step.note("partitioned-otherwise", space=name, peer=peer)

    def _homes_of(self, weights: dict[str, float]) -> Homes:
        key = tuple(sorted(weights.items()))
        homes = self._homes.get(key)
        if homes is None:
            while len(self._homes) >= HOMES_MAX:
                del self._homes[next(iter(self._homes))]
            homes = self._homes[key] = Homes(weights)
        return homes

    # -- moving ------------------------------------------------------------------------------

    def _sweep(self, level: Level) -> None:
        """Look through a space: what is at home elsewhere now is to move."""
        part = level.partition
        assert part is not None, "it is partitioned"
        part.after = 0
        part.swept = not level.space.since(0, 1)
        if not part.swept and not part.sweeping:
            part.sweeping = True
            self._host.looking.later(self.keeper, partial(self._sweep_some, level))

    def _sweep_some(self, level: Level) -> bool:
        """Look at some more; whether there may be others."""
        part = level.partition
        assert part is not None, "it is partitioned"
        if self._spaces.levels.get(level.name) is not level:
            part.sweeping = False
            return False
        some = level.space.since(part.after, SWEPT_IN_STEP)
        if some:
            part.after = some[-1].order
        for record in some:
            if record.order > 0:  # else a listener took it as another came to the keeper
                self.aim_again(level, record)
        for dest in level.space.misplaced():
            self.ship(level, dest)
        self.unannounced[level.name] = None
        if len(some) == SWEPT_IN_STEP:
            return True
        part.swept, part.sweeping = True, False
        return False

    def ship(self, level: Level, dest: str) -> None:
        """Send a share of the tuples for another keeper on, if it can be reached."""
        group, peer = self._host.group, dest[1:]
        room = UNDER_WAY_MAX - group.under_way(peer)
        if room <= 0:
            self._paused[peer] = None
        elif is_keeper(dest) and peer in group.entries:
            strays = level.space.misplaced_for(dest, min(room, SWEPT_IN_STEP))
            some = few_bytes(strays)
            for record in some:
                self._host.placing.ship_one(peer, level, record)
            if len(strays) == min(room, SWEPT_IN_STEP) or len(some) < len(strays):
                self._paused[peer] = None

    def taken(self, peer: str) -> None:
        """A peer has got some of what was under way to it."""
        if peer in self._paused and self._host.group.under_way(peer) < UNDER_WAY_MAX // 2:
            del self._paused[peer]
            for level in self._levels():
                self.ship(level, keeper_of(peer))

    # -- the group ---------------------------------------------------------------------------

    def respread(self) -> None:
        for level in self._levels():
            self._refresh(level)

    def followed(self, peer: str, news: DirectoryChanged, spaces: Iterable[str]) -> None:
        for level in self._levels(spaces):
            self._refresh(level)

    def lost(self, peer: str) -> None:
        self._paused.pop(peer, None)

    def _is_settled(self, level: Level) -> bool:
        part = level.partition
        return part is not None and part.swept and not level.space.misplaced()

    def entry(self) -> ShareLines:
        """What this host tells whole of the shares that it keeps."""
        return self.weight, self._lines()

    def _lines(self, names: Iterable[str] | None = None) -> tuple[tuple[str, int], ...]:
        lines: list[tuple[str, int]] = []
        for level in self._levels(names):
            assert level.partition is not None, "as each of them is"
            settled = self._is_settled(level)
            lines.append((level.name, level.partition.homes.digest if settled else 0))
        return tuple(lines)

    def news(self) -> ShareLines:
        """What is different since last time: its weight (-1 for nothing), and in these lines."""
        weight = -1.0 if self.weight == self._told_weight else self.weight
        self._told_weight = self.weight
        fresh = dict(self._lines(self.unannounced))
        for name in [name for name in self.unannounced if fresh.get(name, 1)]:
            del self.unannounced[name]
        changed = tuple([(name, at) for name, at in fresh.items() if self._told.get(name) != at])
        self._told.update(changed)
        return weight, changed

    # -- draining ----------------------------------------------------------------------------

    def drain(self, event: Drain) -> None:
        """Have no share of anything from now on, or have one again."""
        if self.drained is not event.drained:
            self.drained = event.drained
            self._step.write_down(SmallKept(DRAINED, b"1" if event.drained else b""))
            self.unannounced[""] = None
            self._refresh_all([level.name for level in self._levels()])

    def held(self) -> int:
        """How many tuples of partitioned spaces lie here."""
        return sum([len(level.space) for level in self._levels()])

    def alone(self) -> tuple[str, ...]:
        """The spaces of which no other host could have a share."""
        found = [one for one in self._levels() if one.partition and one.partition.homes.only_one]
        return tuple([level.name for level in found])

    def state(self, name: str) -> ShareState | None:
        """How far a space is partitioned, if it is."""
        level = self._spaces.levels.get(name)
        if level is None or level.partition is None or self.keeper not in level.sharers:
            return None
        part, space = level.partition, level.space
        strays = sum([len(space.misplaced_for(dest)) for dest in space.misplaced()])
        settled = self._is_settled(level)
        return part.key.text, part.homes.hosts, strays, settled, part.unsettled, part.apart

    def _apart(self, level: Level) -> tuple[str, ...]:
        """Engaged hosts whose space of that name is the same but for its partition."""
        ties = [(peer, lines.tie(level.name)) for peer, lines in self._host.group.entries.items()]
        mine = untied(level.ontology)
        return tuple(
            [
                peer
                for peer, tie in ties
                if tie is not None
                and tie[0] == level.law
                and (there := untied(tie[1])) != mine
                and there[0] == mine[0]
            ]
        )
