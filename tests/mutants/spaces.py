"""Deliberate bugs in spaces, engagement and hosts: what simulated worlds must notice, or tests."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

FEDERATION: Final = Worlds("federation", 25)
LEASES: Final = Worlds("leases", 60)
MODEL: Final = "tests/models/test_space.py"
COST: Final = "tests/unit/host/test_cost_of_a_move.py"
DIRECTORY: Final = "tests/unit/host/test_directory.py"
KEPT: Final = "tests/unit/host/test_kept_tuples.py"
LAWS_HERE: Final = "tests/unit/host/test_governing.py"
MESSAGES: Final = Worlds("messages", 30)

ENGINE: Final = "space/engine.py"
STEPS: Final = "space/steps.py"
WAITING: Final = "space/waiting.py"
SEEN: Final = "space/seen.py"
ENGAGEMENT: Final = "protocols/engagement.py"
LINKS: Final = "protocols/links.py"
STREAMS: Final = "protocols/streams.py"
TRANSFERS: Final = "protocols/transfers.py"
GROUP: Final = "host/group.py"
PLACING: Final = "host/placing.py"
WRITING: Final = "host/writing.py"
LENDING: Final = "host/lending.py"
REACTING: Final = "host/reacting.py"
SEEKING: Final = "host/seeking.py"
CLAIMING: Final = "host/claiming.py"
SERVING: Final = "host/serving.py"
SYSTEM: Final = "host/system.py"
GOVERNED: Final = "host/governed.py"

SPACES: Final = (
    # -- the engine of a space -------------------------------------------------------------
    Mutant(
        "a tuple that was taken is there for the next taker too",
        STEPS,
        """            self._searches.took(record, now)
            self._store.remove(record)
            self._outcomes.append(Woken(taker.ticket, record))
""",
        """            self._searches.took(record, now)
            self._outcomes.append(Woken(taker.ticket, record))
""",
        FEDERATION,
    ),
    Mutant(
        "a lease that lapses loses its tuple",
        ENGINE,
        """            self._steps.note(Lapsed(lease.record, lease.taker))
            self._bring_back(lease, now)
""",
        """            self._steps.note(Lapsed(lease.record, lease.taker))
""",
        FEDERATION,
    ),
    Mutant(
        "a tuple that comes back from a lease wakes nobody",
        ENGINE,
        """            record.order = -record.order
            self._store.add(record)
            self._steps.show(record)
""",
        """            record.order = -record.order
            self._store.add(record)
""",
        FEDERATION,
    ),
    Mutant(
        "a reaction forgets what it has met",
        STEPS,
        """        else:
            reaction.seen.add(record.id)
        if reaction.listener is None:
""",
        """        if reaction.listener is None:
""",
        FEDERATION,
    ),
    Mutant(
        "a reaction does not look at what is there",
        ENGINE,
        """        self._reactions.add(reaction)
        if reaction.enabled:
            self._steps.meet(reaction)
""",
        """        self._reactions.add(reaction)
""",
        FEDERATION,
    ),
    Mutant(
        "what lies between two tuples that were met counts as met",
        SEEN,
        """        if not ends or low > ends[-1]:
            ends += (low, high + 1)
        elif low == ends[-1]:
            ends[-1] = high + 1
""",
        """        if not ends:
            ends += (low, high + 1)
        elif low >= ends[-1]:
            ends[-1] = high + 1
""",
        FEDERATION,
    ),
    # Worlds do not see these, or seldom: checkers reason with intervals, which hide who of two that
    # overlap has the better right, and few seeds bring the others about. A model of one space does.
    Mutant(
        "the newest waiter is served first",
        STEPS,
        "next((one for one in takes if self._suits(one, record)), None)\n",
        "([None] + [one for one in takes if self._suits(one, record)])[-1]\n",
        MODEL,
    ),
    Mutant(
        "of those who wait to read only the first is served",
        STEPS,
        "[one for one in waiters.reads.of(record) if self._suits(one, record)]:\n",
        "[one for one in waiters.reads.of(record) if self._suits(one, record)][:1]:\n",
        MODEL,
    ),
    Mutant(
        "a tuple that changes hands is shown to nobody",
        ENGINE,
        """        self._store.move(record, cur)
        self._steps.show(record)
""",
        """        self._store.move(record, cur)
""",
        MODEL,
    ),
    Mutant(
        "waiters are served before reactions have run",
        STEPS,
        """            self._run_reactions(now)
            self._serve(now)
""",
        """            self._serve(now)
            self._run_reactions(now)
""",
        MODEL,
    ),
    Mutant(
        "a watch for another host that was put to sleep never wakes",
        WAITING,
        "        if not waiter.armed:\n",
        "        if not waiter.armed and waiter.how != OFFER:\n",
        MODEL,
    ),
    # -- engagement ------------------------------------------------------------------------
    Mutant(
        "a host that starts again gives out a view's number twice",
        ENGAGEMENT,
        "effects += [events.Floor(body.id[0]), events.Freeze(body.id)]",
        "effects += [events.Freeze(body.id)]",
        FEDERATION,
    ),
    Mutant(
        "hosts of one group in different views stay so",
        ENGAGEMENT,
        "        return all(adverts[host].view == self.view.id for host in self._component)\n",
        "        return all(host in adverts for host in self._component)\n",
        FEDERATION,
    ),
    Mutant(
        "every host leads",
        ENGAGEMENT,
        """        if self._component[0] != self.host:
            return None
""",
        "",
        FEDERATION,
    ),
    Mutant(
        "a proposal has the number of the one before",
        ENGAGEMENT,
        "*[one.view[0] for one in adverts]) + 1\n",
        "*[one.view[0] for one in adverts])\n",
        FEDERATION,
    ),
    # -- links, streams, transfers ---------------------------------------------------------
    Mutant(
        "nothing is passed on for others",
        LINKS,
        "if hop is None or relay.ttl <= 1:",
        "if hop is None or relay.ttl > 1:",
        FEDERATION,
    ),
    Mutant(
        "a stream delivers what overtook the rest at once",
        STREAMS,
        """                bodies.append(stream.ahead.pop(stream.got))
        elif stream.got < frame.number <= stream.got + AHEAD_MAX:
            stream.ahead[frame.number] = frame.body
""",
        """                stream.ahead.pop(stream.got)
        elif frame.number > stream.got and frame.number not in stream.ahead:
            stream.ahead[frame.number] = frame.body
            bodies.append(frame.body)
""",
        FEDERATION,
    ),
    Mutant(
        "what a stream lost is not sent again",
        STREAMS,
        "again.append((peer, Data(stream.session, number, stream.got, body)))",
        "again += [(peer, Data(stream.session, number, 0, body))] if not stream.got else []",
        FEDERATION,
    ),
    Mutant(
        "a transfer that comes again is placed again",
        TRANSFERS,
        "return number == self.placed.get(peer, 0) + 1",
        "return number <= self.placed.get(peer, 0) + 1",
        FEDERATION,
    ),
    # -- a host in its group ---------------------------------------------------------------
    Mutant(
        "a view is installed before all have met",
        GROUP,
        "if self._joining is not None and not self._awaited:",
        "if self._joining is not None:",
        FEDERATION,
    ),
    Mutant(
        "transfers under way are forgotten when a host starts again",
        GROUP,
        "        self.transfers = Transfers(durable.transfers)\n",
        "        self.transfers = Transfers(durable.transfers)\n"
        "        self.transfers.waiting.clear()\n",
        FEDERATION,
    ),
    Mutant(
        "a host that starts again does not know which transfers it has placed",
        GROUP,
        "        self.transfers = Transfers(durable.transfers)\n",
        "        self.transfers = Transfers(durable.transfers)\n"
        "        self.transfers.placed.clear()\n",
        FEDERATION,
    ),
    Mutant(
        "transfers under way are not sent again when hosts meet",
        GROUP,
        """            self.retell(peer)
            if mine.has_for(peer, entries[peer]):
""",
        """            if mine.has_for(peer, entries[peer]):
""",
        FEDERATION,
    ),
    Mutant(
        "what peers say while the group changes is dropped",
        GROUP,
        "self._held.setdefault(peer, []).append((body, straight))\n",
        "pass\n",
        FEDERATION,
    ),
    Mutant(
        "LimeSystem still shows who has departed",
        SYSTEM,
        "says[line] is not None or line in self._departed:\n",
        "says[line] is not None or self._departed:\n",
        FEDERATION,
    ),
    Mutant(
        "LimeSystem shows the agents of one peer only",
        SYSTEM,
        "for directory in host.group.entries.values():",
        "for directory in list(host.group.entries.values())[:1]:",
        FEDERATION,
    ),
    Mutant(
        "peers are not told who comes and goes",
        GROUP,
        """        for peer in self._streams:
            self.tell(peer, news)
""",
        "",
        FEDERATION,
    ),
    # Groups change often enough in the worlds to hide these: each new view begins all over.
    Mutant(
        "an agent that left a peer is still known to be there",
        GROUP,
        """            if self.where.get(agent) == peer:
                self._find_again(agent)
""",
        "            pass\n",
        DIRECTORY,
    ),
    Mutant(
        "a waiter is not watched for at a peer where its space is shared later",
        SEEKING,
        "        self.follow(spaces, (*news.went, *news.came))\n",
        "        pass\n",
        DIRECTORY,
    ),
    Mutant(
        "a misplaced tuple stays where it is when its agent comes to a peer",
        PLACING,
        """            if level is not None and level.tie == (one.law, one.ontology):
                self._ship_to(peer, level, one.agent)
""",
        "            pass\n",
        DIRECTORY,
    ),
    Mutant(
        "what found no room at a peer is forgotten",
        GROUP,
        "            self._crowded[peer] = None\n",
        "",
        DIRECTORY,
    ),
    Mutant(
        "all that waits is looked at when one agent moves",
        SEEKING,
        "        self.follow(spaces, (*news.went, *news.came))\n",
        "        self.respread()\n",
        COST,
    ),
    # -- a host and its tuples -------------------------------------------------------------
    Mutant(
        "a tuple's time to live is ignored",
        WRITING,
        "            self._step.now + out.ttl_us if out.ttl_us else 0,\n        )\n",
        "            0,\n        )\n",
        FEDERATION,
    ),
    Mutant(
        "a misplaced tuple is forgotten when its agent is met",
        PLACING,
        """        level.space.remove(record)
        self._step.forget(level.name, record)
        self._host.group.give(peer, Migrated(level.name, level.law, row_of(record)))
""",
        """        level.space.remove(record)
        self._step.forget(level.name, record)
""",
        FEDERATION,
    ),
    Mutant(
        "a misplaced tuple stays where it is when its agent is met",
        PLACING,
        "                if self._shares(lines, level, dest):\n",
        "                if not self._shares(lines, level, dest):\n",
        FEDERATION,
    ),
    Mutant(
        "a tuple whose holder has moved on is dropped",
        PLACING,
        """        self._step.keep(name, record)
        self.keep_in_limbo(name, law, record)
""",
        """        self._step.forget(name, record)
""",
        FEDERATION,
    ),
    Mutant(
        "a claimed tuple is given and stays",
        SERVING,
        """        for record in records:
            space.took(record, self._step.now)
            space.remove(record)
            self._step.forget(body.space, record)
            self._step.trace(TAKEN, body.space, record, body.agent)
""",
        "",
        FEDERATION,
    ),
    Mutant(
        "a tuple that comes for a take that is over is not sent back",
        CLAIMING,
        """            for row in what.rows:
                host.group.give(peer, frames.Returned(what.space, what.law, row))
            return
""",
        """            return
""",
        FEDERATION,
    ),
    Mutant(
        "a waiter is not watched for where contact was lost",
        SEEKING,
        """            one.sites.pop(peer, None)
            one.offers = deque""",
        """            one.offers = deque""",
        FEDERATION,
    ),
    Mutant(
        "a take here is not written down",
        SEEKING,
        """                for record in records:
                    self._step.forget(name, record)
""",
        """                for record in records:
""",
        FEDERATION,
    ),
    Mutant(
        "a leased tuple that was acknowledged comes back",
        LENDING,
        "            step.forget(space.name, record)\n",
        "",
        LEASES,
    ),
    Mutant(
        "a lease that is renewed ends when it would have",
        ENGINE,
        "        self._lend_until(lease, taker, until)\n",
        "",
        LEASES,
    ),
    Mutant(
        "what is given back for later is there at once",
        ENGINE,
        "        if until > now and not 0 < self.deliveries_max",
        "        if until < now and not 0 < self.deliveries_max",
        LEASES,
    ),
    Mutant(
        "a lease is over when its host starts again",
        LENDING,
        "        space.lend(record, lease, until, new=True, again=True)\n",
        "        space.lend(record, lease, self._step.now, new=True, again=True)\n",
        LEASES,
    ),
    Mutant(
        "a word on a lease counts until its host has heard the time",
        LENDING,
        "            and known.space.is_lent(known.ids[0], self._step.now)\n",
        "",
        "tests/unit/host/test_tracing.py",
    ),
    Mutant(
        "a word on a lease that was heard and said again counts no more",
        LENDING,
        "            counts = self._is_repeated(body)\n",
        "            counts = False\n",
        "tests/unit/host/test_leases.py",
    ),
    Mutant(
        "a tuple under a lease is shown to a host that its taker is not at",
        LENDING,
        " and lines is not None and lines.has_agent(body.agent):\n",
        ":\n",
        "tests/unit/host/test_leases.py",
    ),
    Mutant(
        "what is lent is not found again after a crash",
        LENDING,
        "                self._keep(name, record, lease, agent, until)\n",
        "                self._step.forget(name, record)\n",
        FEDERATION,
    ),
    Mutant(
        "a reaction that moves forgets what it has met",
        REACTING,
        "one.enabled, one.fired, SeenIds(one.spans)\n",
        "one.enabled, one.fired, SeenIds()\n",
        FEDERATION,
    ),
    Mutant(
        "a reaction fires again for a tuple that another host tells of",
        REACTING,
        """        if (row.writer, row.count) in one.seen:
            return
""",
        "",
        FEDERATION,
    ),
    Mutant(
        "a watchdog is not kept again where contact was lost",
        REACTING,
        """        for one in self._registered.values():
            one.sites.pop(peer, None)
""",
        "",
        FEDERATION,
    ),
    # -- a host and its laws ---------------------------------------------------------------
    Mutant(
        "an answer goes to another host without a ruling",
        GOVERNED,
        """        released = self._release(space, law, agent, answer)
        self._host.governing.drain()
        return released.message
""",
        """        return answer
""",
        MESSAGES,
    ),
    # No law of the workloads refuses anything at a manager, so worlds do not see these two.
    Mutant(
        "an answer goes although the manager's law keeps it",
        GOVERNED,
        "        return Released(message, ruling)\n",
        "        return Released(answer, ruling)\n",
        KEPT,
    ),
    Mutant(
        "the law of a host has no say in what other hosts ask",
        GOVERNED,
        "        return admitted\n",
        "        return True\n",
        LAWS_HERE,
    ),
)
