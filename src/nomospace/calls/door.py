"""Why a client is not let in by a host, or not let through: errors that both ends know."""

from __future__ import annotations

from nomospace.errors import CallerError, Unavailable


class NotLetIn(CallerError):
    """A client did not prove who it is."""

    code = "node.not-let-in"
    words = (
        "not let in: {why}; connect with identity=… or token=… (`nomospace trust issue` makes them)"
    )
    why: str


class NotYourAgent(CallerError):
    """A client would speak for an agent that it is not."""

    code = "node.not-your-agent"
    words = "{proved} may not speak for {agent}; connect with that agent's identity"
    agent: str
    proved: str


class NotAnOperator(CallerError):
    """An operator's question came from someone else."""

    code = "node.not-an-operator"
    words = (
        "{proved} is no operator of this host; use a token with the scope 'operator' "
        "(`nomospace trust issue token`)"
    )
    proved: str


class TooManyClients(Unavailable):
    """A host has as many connections of clients as it bears."""

    code = "node.too-many-clients"
    words = "this host has {limit:,} clients and takes no more; try again later"
    limit: int
