"""Secure bidding (000, section 4.1): the law of sb.law in Python. They rule alike.

Clients ask for services and providers bid for them through a shared space.

    request  [requester(C), service(S)]
    bid      [offerFor(C, S), fee(F), provider(P), contact(Addr)]

1. Neither can be forged: each names the agent that wrote it.
2. A request is read by providers only, and removed only by the client that made it.
3. A bid is a secure message from its provider to its client: nobody else gets at it.

sb.law says more about roles, state, and where the law departs from the paper.
"""

law = Law("sb", authorities={"admin": "admin_key"}, initial=[])


@law.sent(Op)
def ask_in_own_name(cs):
    """Anyone may ask for a service in its own name."""
    require(writes(Op, [requester(Self), service(_)]))
    do(forward)


@law.sent(Op)
def withdraw_own_request(cs):
    """A client may take its own requests out of the space again."""
    require(removal(Op, [requester(Self), service(_)]))
    do(forward)


@law.sent(Op)
def providers_read_requests(cs):
    """A provider may read all requests, and remove none. Clients may not even read."""
    require(reading(Op, [requester(_), service(_)]) and cs.has(serviceProvider))
    do(forward)


@law.sent(Op)
def bid_in_own_name(cs):
    """A provider may bid in its own name."""
    require(writes(Op, [offerFor(_, _), fee(_), provider(Self), contact(_)]))
    require(cs.has(serviceProvider))
    do(forward)


@law.sent(Op)
def bids_are_for_their_client(cs):
    """A bid is for its client alone, to read as well as to take."""
    require(access(Op, [offerFor(Self, _), fee(_), provider(_), contact(_)]))
    do(forward)


@law.sent(Op)
def stop_reading_requests(cs):
    """Who reads requests no more may always say so, also after its role is gone."""
    require(ending(Op, [requester(_), service(_)]))
    do(forward)


@law.sent(_)
def answers_of_a_space(cs):
    """What a space sends is the answer to a request that was ruled on already."""
    require(cs.has(tupleSpace))
    do(forward)


@law.arrived(reacted(P, _), sender=Space)
def reaction_without_role(cs):
    """A provider no longer: its reaction is taken back in its place."""
    require(unify(P, [requester(_), service(_)]) and not cs.has(serviceProvider))
    do(forward(Self, unreact(P), Space))


@law.arrived(found(Op, _), sender=Space)
def answer_without_role(cs):
    """A provider no longer: the answer that was on its way shows nothing."""
    require(reading(Op, [requester(_), service(_)]) and not cs.has(serviceProvider))
    do(deliver(Space, none(Op), Self))


@law.arrived(_)
def all_else_was_ruled_on(cs):
    """Whatever else arrives was ruled on where it was sent."""
    do(deliver)


@law.adopted(Args)
def claim_the_role(cs):
    require(serviceProvider in Args)
    do(add(serviceProvider))


@law.certified(issuer=admin, subject=Self, attributes=[role(serviceProvider)])
def certified_provider(cs):
    require(not cs.has(serviceProvider))
    do(add(serviceProvider))


@law.revoked(issuer=admin, subject=Self, attributes=[role(serviceProvider)])
def provider_no_longer(cs):
    """However the role was come by: who has another certificate presents it again."""
    do(remove(serviceProvider))


def writes(Op, T):
    """Operation Op puts tuple T into a space."""
    return unify(Op, out(T)) or unify(Op, out(T, _))


def access(Op, P):
    """Operation Op sees or removes tuples through template P, or undoes one that does."""
    return removal(Op, P) or reading(Op, P) or ending(Op, P)


def removal(Op, P):
    """Operation Op removes tuples that match P, or undoes one that does.

    What a lease is given back on is one's own, so that even a space that did not look whether there
    was a lease would write nothing but what its sender may write or what nobody else gets to see.
    """
    return (
        takes(Op, P)
        or (unify(Op, cancel(Inner)) and takes(Inner, P))
        or unify(Op, returned(P)) or unify(Op, returned(P, _)) or unify(Op, renewed(P, _))
    )


def takes(Op, P):
    """Operation Op removes tuples that match P."""
    return (
        unify(Op, in_(P)) or unify(Op, in_(P, _))
        or unify(Op, inp(P)) or unify(Op, inp(P, _))
        or unify(Op, ing(P)) or unify(Op, ing(P, _))
    )


def reading(Op, P):
    """Operation Op shows tuples that match P and leaves them where they are."""
    return (
        unify(Op, rd(P)) or unify(Op, rd(P, _))
        or unify(Op, rdp(P)) or unify(Op, rdp(P, _))
        or unify(Op, rdg(P)) or unify(Op, rdg(P, _))
        or unify(Op, react(P, _)) or unify(Op, react(P, _, _))
    )


def ending(Op, P):
    """Operation Op ends an earlier reading through P."""
    return unify(Op, unreact(P)) or (unify(Op, cancel(Inner)) and reading(Inner, P))
