"""Deliberate bugs in routing, the courier and the handover: what simulated worlds must notice."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

WORLDS: Final = Worlds("routing", 30)
SERVERS: Final = Worlds("routing", 60)
MEMBERS: Final = Worlds("members", 10)

DAEMON: Final = "protocols/routing/daemon.py"
SERVER: Final = "protocols/routing/server.py"
ORDER: Final = "protocols/routing/order.py"
RESIDENTS: Final = "protocols/routing/residents.py"
MEMORY: Final = "protocols/routing/daemon_memory.py"
COURIER: Final = "protocols/courier.py"
POSTING: Final = "host/posting.py"
MOVING: Final = "host/moving.py"
ELECTED: Final = "protocols/routing/elected.py"
PLACES: Final = "protocols/routing/places.py"

ROUTING: Final = (
    # -- the courier -----------------------------------------------------------------------
    Mutant(
        "a parcel is sent again only once",
        COURIER,
        "for number, what in waiting]",
        "for number, what in waiting if route.pause == PAUSE_MIN_US]",
        "tests/unit/protocols/test_courier.py",
    ),
    Mutant(
        "a receipt covers parcels that have not come",
        COURIER,
        "return came, self.receipt(peer)",
        "return came, Receipt(frame.number, *self._births.stamp(peer))",
        WORLDS,
    ),
    Mutant(
        "a parcel that overtook others is acted on before them",
        COURIER,
        """            route.ahead[number] = frame.what
        return came""",
        """            if number not in route.ahead:
                came.append((number, frame.what))
            route.ahead[number] = frame.what
        return came""",
        WORLDS,
    ),
    # -- the post office of a host ---------------------------------------------------------
    Mutant(
        "parcels under way are forgotten when a host starts again",
        POSTING,
        "        self.timed = True\n",
        "        self.timed = True\n        self.courier.book.waiting.clear()\n",
        WORLDS,
    ),
    Mutant(
        "which parcels have come is not written down",
        POSTING,
        "self._step.write_down(ParcelPlaced(peer, number))\n",
        "pass\n",
        WORLDS,
    ),
    Mutant(
        "what routing remembers is not written down",
        POSTING,
        "self._step.write_down(RoutingChanged(core, effect.change))\n",
        "pass\n",
        WORLDS,
    ),
    # -- daemons ---------------------------------------------------------------------------
    Mutant(
        "the number of a post is given again after a crash",
        DAEMON,
        "        out: list[Effect] = [PersistChange(written.Sent(sender, to, n))]\n",
        "        out: list[Effect] = []\n",
        WORLDS,
    ),
    Mutant(
        "a post is delivered where its agent is no more",
        DAEMON,
        """        if resident is None or resident.phase is AWAY:
            self._to_seek(self._domain, post, out)
""",
        """        if resident is None:
            self._to_seek(self._domain, post, out)
""",
        WORLDS,
    ),
    Mutant(
        "a post that had to wait is not tried again",
        DAEMON,
        """            for post in posts:
                self._retry(post, now, out)
""",
        """            for post in posts[1:]:
                self._retry(post, now, out)
""",
        WORLDS,
    ),
    Mutant(
        "the server that an agent left is not told that it came",
        DAEMON,
        """            self._enter(agent, resident, CONFIRMING, out)
            out.append(self._ask_server(agent, resident))
""",
        """            self._enter(agent, resident, CONFIRMING, out)
""",
        WORLDS,
    ),
    Mutant(
        "a post that came early is delivered at once",
        ORDER,
        """    elif n > got:
        keep(post, resident, early_max, out)
""",
        """    elif n > got:
        hand_over(post, resident, out)
""",
        WORLDS,
    ),
    Mutant(
        "what waited for a post that was missing waits on",
        ORDER,
        """    if resident.early:
        drain(post.to, resident, post.sender, out)
""",
        "",
        WORLDS,
    ),
    Mutant(
        "an agent leaves behind which posts it has got",
        RESIDENTS,
        "            tuple((self.got or {}).items()),\n            tuple(post for",
        "            (),\n            tuple(post for",
        WORLDS,
    ),
    Mutant(
        "an agent leaves behind the posts that wait for their turn",
        RESIDENTS,
        "            tuple(post for post in early.values() if post is not None),\n",
        "            (),\n",
        WORLDS,
    ),
    # -- servers ---------------------------------------------------------------------------
    Mutant(
        "mail that waited for the end of a move is dropped",
        SERVER,
        """            for post in self._queues.pop(agent):
                self._route(post, out)
""",
        """            self._queues.pop(agent)
""",
        WORLDS,
    ),
    Mutant(
        "mail that waits for the end of a move is lost in a crash",
        SERVER,
        """            queue.append(post)
            out.append(PersistChange(written.Queued(post)))
""",
        """            queue.append(post)
""",
        WORLDS,
    ),
    Mutant(
        "a server takes an agent that left its domain to be at its old site",
        SERVER,
        "            self._put(agent, LocationRecord(GONE, came.there, epoch), out)\n",
        "            self._put(agent, LocationRecord(HERE, record.where, epoch), out)\n",
        WORLDS,
    ),
    Mutant(
        "mail to an agent that nobody knows is not answered",
        SERVER,
        "            out.append(TransmitFrame(post.origin, PostReturned(post, why)))\n",
        "            pass\n",
        WORLDS,
    ),
    # -- the handover ----------------------------------------------------------------------
    Mutant(
        "an agent that is handed over goes on where it was too",
        MOVING,
        "        bundle = host.holding.pack(agent)\n",
        "        bundle = host.holding.pack(agent)\n        host.holding.unpack(agent, bundle)\n",
        WORLDS,
    ),
    Mutant(
        "an agent that is not taken is lost",
        MOVING,
        "            host.posting.parcel(peer, Back(body, why))\n            return\n",
        "            return\n",
        WORLDS,
    ),
    Mutant(
        "an agent that was sent back has no seat",
        MOVING,
        "        host.posting.stay(coming.agent)\n",
        "",
        WORLDS,
    ),
    Mutant(
        "an agent that comes is not seated",
        MOVING,
        "        host.posting.arrive(body.agent, body.seat, body.ticket)\n",
        "",
        WORLDS,
    ),
    # -- whom to believe -------------------------------------------------------------------
    Mutant(
        "a server believes an update of anybody",
        SERVER,
        "believed = src == passed_to or self.places.is_server(src)",
        "believed = True",
        "tests/unit/host/test_posting.py",
    ),
    Mutant(
        "a daemon believes an update of anybody",
        DAEMON,
        "if not (src == asked or self._places.is_server(src)):",
        "if False:",
        "tests/unit/host/test_posting.py",
    ),
    Mutant(
        "a host lets others have agents of its own domain",
        PLACES,
        "return domain in self.servers or site == domain",
        "return True",
        "tests/unit/host/test_posting.py",
    ),
    Mutant(
        "an agent that is too heavy is handed to the courier all the same",
        MOVING,
        "        if why := host.carries(Parcel(0, coming)):  # it would be tried for ever",
        "        if why := '':",
        "tests/unit/host/test_moving.py",
    ),
    # -- members twice ---------------------------------------------------------------------
    Mutant(
        "mail for a second membership comes to the first",
        "host/mailing.py",
        "        home, law = home_of(agent, body.law)\n        why = ",
        "        home, law = agent, home_of(agent, body.law)[1]\n        why = ",
        MEMBERS,
    ),
    Mutant(
        "what a second membership sent in vain is told to the first",
        "host/mailing.py",
        "governing.find(address_of(agent, body.by), law)",
        "governing.find(agent, law)",
        MEMBERS,
    ),
    Mutant(
        "a host that an agent has left keeps its second membership",
        "host/holding.py",
        "AgentWent(agent, tuple(homes))",
        "AgentWent(agent)",
        MEMBERS,
    ),
    Mutant(
        "an agent that ends is forgotten, and nobody is told",
        "host/holding.py",
        "        host.posting.end(agent)\n",
        "",
        MEMBERS,
    ),
    # -- servers that choose their primary ---------------------------------------------------
    Mutant(
        "a minority elects",
        ELECTED,
        "        return self._ask_votes(self.term + 1)\n",
        """        out: list[Effect] = []
        self._stand(now, out)
        self._win(now, out)
        return out
""",
        SERVERS,
    ),
    Mutant(
        "the term of a copied step is not checked",
        ELECTED,
        """            if term < self.term:
                out.append(Noted("of another term", (src, frame)))
            elif self.role""",
        """            if self.role""",
        SERVERS,
    ),
    Mutant(
        "a vote is given twice in a term",
        ELECTED,
        'given = fit and ask.term == self.term and self._voted in ("", src)',
        "given = fit and ask.term == self.term",
        "tests/unit/protocols/routing/test_elected.py",
    ),
    Mutant(
        "a vote goes to who has less",
        ELECTED,
        "fit = its >= mine and self._step > 0",
        "fit = self._step > 0",
        SERVERS,
    ),
    Mutant(
        "who is behind has no vote",
        ELECTED,
        "fit = its >= mine and self._step > 0",
        "fit = its >= mine and (self.last == self.term or not ask.trial)",
        SERVERS,
    ),
    Mutant(
        "a primary goes on after it lost",
        ELECTED,
        "        self.term, self.role = term, STANDBY\n",
        "        self.term = term\n",
        SERVERS,
    ),
    Mutant(
        "a primary answers before a majority has the step",
        ELECTED,
        "            self._let_out(has[self._quorum - 1], out)\n",
        "            self._let_out(has[0], out)\n",
        SERVERS,
    ),
    Mutant(
        "what was heard in vain is forgotten",
        ELECTED,
        "        self._kept += vain\n",
        "",
        SERVERS,
    ),
    Mutant(
        "a daemon does not ask the new primary again",
        DAEMON,
        "            if asked is not None and asked.domain == domain:\n",
        "            if asked is None and resident is None:\n",
        SERVERS,
    ),
    Mutant(
        "a daemon believes an earlier primary",
        DAEMON,
        "elif isinstance(frame, RecordAck | MayGo | Refuse) and frame.term < self.term(domain):",
        "elif isinstance(frame, RecordAck | MayGo | Refuse) and frame.term < 0:",
        "tests/unit/protocols/routing/test_daemon.py",
    ),
)
