"""Deliberate bugs in the sessions of clients and in plain calls, which worlds must notice."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Worlds

CLIENTS: Final = Worlds("sessions", 60)

CLIENT: Final = "sessions/client_session.py"
OPEN: Final = "sessions/open_calls.py"
HOST: Final = "sessions/host_sessions.py"
SESSION: Final = "sessions/host_session.py"
PUSHING: Final = "sessions/pushing.py"
PLAIN: Final = "host/plain.py"

SESSIONS: Final = (
    # -- the client's end ------------------------------------------------------------------
    Mutant(
        "a client gives one number to two calls",
        CLIENT,
        "        self.number = call.number\n",
        "        self.number = call.number - (call.number % 7 == 0)\n",
        CLIENTS,
    ),
    Mutant(
        "a call that was sent is not asked again over a new connection",
        CLIENT,
        """            call.sent = True
            orders.append(SendFrame(call.body))
""",
        """            if not call.sent:
                orders.append(SendFrame(call.body))
            call.sent = True
""",
        CLIENTS,
    ),
    Mutant(
        "an answer that nobody waits for is dropped with its tuple",
        OPEN,
        "        elif call.taking is not None and value:\n",
        "        elif call.taking is not None and value and call.posted:\n",
        CLIENTS,
    ),
    Mutant(
        "a take that is given up before its answer is noticed keeps its tuple",
        OPEN,
        "        return self._give_back(call, value) if value else []\n",
        "        return []\n",
        CLIENTS,
    ),
    Mutant(
        "a take that is given up goes on waiting at its host",
        CLIENT,
        """        elif not call.late:
            return self.post(Cancel(call.number), nobody)
""",
        "",
        CLIENTS,
    ),
    Mutant(
        "a take whose time is up without a host is forgotten",
        CLIENT,
        """        call.asker = None
        return self._call_off(call)

    def _call_off""",
        """        del self.calls[call.number]
        return []

    def _call_off""",
        CLIENTS,
    ),
    Mutant(
        "a client never says what it has seen",
        CLIENT,
        "        if self.seen <= self.acked and not idle:\n",
        "        if self.seen >= self.acked:\n",
        CLIENTS,
    ),
    Mutant(
        "a client says to have seen what is still to come",
        CLIENT,
        "        return [*orders, SendFrame(talk.pack_seen(self.seen))]\n",
        "        return [*orders, SendFrame(talk.pack_seen(self.seen + 1))]\n",
        CLIENTS,
    ),
    # -- the host's end --------------------------------------------------------------------
    Mutant(
        "a call that comes again while its answer waits to be seen is done again",
        SESSION,
        "            or any(push[2] == seq for push in self.outbox)\n",
        "",
        CLIENTS,
    ),
    Mutant(
        "a call that comes again while it is under way is done again",
        SESSION,
        "            seq in self.calls\n            or any",
        "            any",
        CLIENTS,
    ),
    Mutant(
        "a host that comes back does not know which calls it had answered",
        HOST,
        "                session.high = max(session.high, seq)\n",
        "",
        CLIENTS,
    ),
    Mutant(
        "an answer is not on disk with what it tells",
        PUSHING,
        "return rest, tuple([KeptForClient(to.key, push[0], push[1]) for to, push in pushes])",
        "return rest, ()",
        CLIENTS,
    ),
    Mutant(
        "the disk forgets answers that nobody has seen",
        PUSHING,
        "            self._gate.trim(session.key, number)\n",
        "            self._gate.trim(session.key, number + 4)\n",
        CLIENTS,
    ),
    Mutant(
        "an answer is kept past its acknowledgement",
        PUSHING,
        "        while outbox and outbox[0][0] <= number:\n",
        "        while outbox and outbox[0][0] < number:\n",
        CLIENTS,
    ),
    Mutant(
        "two pushes of a host have one number",
        PUSHING,
        """                session.number = number = session.number + 1
                try:
""",
        """                number = session.number + 1
                session.number = number - (number % 5 == 0)
                try:
""",
        CLIENTS,
    ),
    Mutant(
        "pushes are numbered from what a client has seen when it is back",
        HOST,
        "        session.link = link\n        session.sent = 0\n",
        "        session.link = link\n        session.number = seen or session.number\n",
        CLIENTS,
    ),
    Mutant(
        "after a crash pushes are numbered from the beginning",
        HOST,
        "self._add(HostSession(key, who.agent, self._base, alongside=who.alongside))\n",
        "self._add(HostSession(key, who.agent, 0, alongside=who.alongside))\n",
        CLIENTS,
    ),
    Mutant(
        "the oldest push is not sent again over a new connection",
        HOST,
        "        self._send(session, list(session.outbox))\n",
        "        self._send(session, list(session.outbox)[1:])\n",
        CLIENTS,
    ),
    Mutant(
        "what waited for a clogged connection is never sent",
        HOST,
        "[push for push in session.outbox if push[0] > session.sent]",
        "[]",
        CLIENTS,
    ),
    Mutant(
        "a session that ends keeps what it took and never sent",
        HOST,
        "            if number > session.shown and taken is not None:\n",
        "            if number > session.shown and taken is None:\n",
        CLIENTS,
    ),
    # -- plain calls -----------------------------------------------------------------------
    Mutant(
        "a plain take leaves its tuple where it lies",
        PLAIN,
        "                    space.remove(record)\n",
        "",
        CLIENTS,
    ),
    Mutant(
        "a plain take is not told to the disk",
        PLAIN,
        "                        step.changes.append(TupleGone(name, (writer, count)))\n",
        "                        pass\n",
        CLIENTS,
    ),
    Mutant(
        "a plain write goes past one who waits",
        PLAIN,
        "resident.full or not space.quiet:",
        "resident.full:",
        CLIENTS,
    ),
    Mutant(
        "plain calls of one step are answered, and those after them too",
        HOST,
        """            high = asked[done - 1][0]
            self._untell(session, asked, told, done)
""",
        "            pass\n",
        CLIENTS,
    ),
)
