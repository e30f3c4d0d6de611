"""Alarms in a hospital (001, sections 2 and 4): the law of ap.law in Python. They rule alike.

Alarms go through mediators (publish and subscribe). Experts' alarms are for everyone, laymen's for
experts; inspectors answer for every layman's alarm of their kind. The numbers below are those of
the points of policy AP. ap.law says more about roles, messages and state, and where the law departs
from the paper.
"""

law = Law(
    "ap",
    controller_authority="controllers_key",
    authorities={"admin": "admin_key"},
    initial=[],
)


# -- (1) roles come from admin's certificates, and end with them -------------------------------


def a_role(R):
    return R == mediator or R == facilityManager or unify(R, expert(_))


@law.certified(issuer=admin, subject=Self, attributes=[role(R)])
def role_begins(cs):
    require(a_role(R) and not cs.has(R))
    do(add(R))


@law.revoked(issuer=admin, subject=Self, attributes=[role(R)])
def role_ends(cs):
    """Who has another certificate for the role presents it again."""
    require(a_role(R))
    do(remove(R))
    if unify(R, expert(K)) and cs.has(inspector(K)):
        do(remove(inspector(K)))


# -- (3, 5c) a layman's subscription is to experts' alarms; metaAlarms are for experts only ----


@law.sent(subscribe(alarm(Criteria)), to=M)
def subscribe_to_one_kind(cs, K, Others, Allowed):
    require(kind(K) in Criteria)
    Others = delete(Criteria, kind(K))
    require(kind(_) not in Others)
    if cs.has(expert(K)):
        Allowed = Criteria
    else:
        require(K != metaAlarm)
        Free = delete(Criteria, status(_))
        Allowed = append(Free, [status(expert)])
    do(forward(Self, subscribe(alarm(Allowed)), M))


# -- (4) what the law adds to an alarm, and how often a layman may raise it --------------------


@law.sent(publish(alarm(kind(K), text(X))), to=M)
def publish_an_alarm(cs, T, S):
    """The law says when, by whom and with what standing an alarm was raised.

    A layman may raise the same one every five minutes.
    """
    T = cs.clock()
    if cs.has(expert(K)):
        S = expert
    else:
        S = layman
        require(not cs.has(blocked))
        require(not cs.has(blocked(K)))
        require(not cs.has(blocked(kind(K), text(X))))
        do(add(blocked(kind(K), text(X))))
        do(impose(releaseBlock(kind(K), text(X)), 5, "min"))
    do(forward(Self, publish(alarm(kind(K), time(T), informer(Self), status(S), text(X))), M))


@law.obligation_due(releaseBlock(kind(K), text(X)))
def same_alarm_again(cs):
    do(remove(blocked(kind(K), text(X))))


@law.sent(blockLay(_))
def block_laymen_of_a_kind(cs):
    require(cs.has(facilityManager))
    do(forward)


@law.sent(blockLay)
def block_laymen(cs):
    require(cs.has(facilityManager))
    do(forward)


@law.arrived(blockLay(K))
def blocked_from_a_kind(cs):
    """Experts cannot be blocked from what they are experts on."""
    require(not cs.has(expert(K)))
    if not cs.has(blocked(K)):
        do(add(blocked(K)))
    do(deliver)


@law.arrived(blockLay)
def blocked_altogether(cs):
    """Nor here: publish_an_alarm looks for the block only after it has found no expert."""
    if not cs.has(blocked):
        do(add(blocked))
    do(deliver)


# -- (2) only certified mediators receive subscriptions and publications, and notify -----------


@law.arrived(_)
def mediators_receive(cs):
    require(unify(Msg, subscribe(_)) or unify(Msg, publish(_)))
    require(cs.has(mediator))
    do(deliver)


@law.sent(notify(_))
def mediators_notify(cs):
    """The destination may be a list."""
    require(cs.has(mediator))
    do(forward)


# -- (3, 5b, 5c) who may receive an alarm is decided where it arrives --------------------------


@law.arrived(notify(A), sender=M)
def receive_an_alarm(cs, K, S):
    """A mediator may bring it to anyone. A layman's alarm lays a duty on an inspector, once."""
    unify(A, alarm(kind(K), time(_), informer(_), status(S), text(_)))
    if S != expert or K == metaAlarm:
        require(cs.has(expert(K)))
    if S != expert and cs.has(inspector(K)) and not cs.has(seen(A)):
        do(impose(handlingExpire(A, med(M)), 10, "min"))
        do(add(seen(A)))
        do(impose(forget(A), 1, "day"))
    do(deliver)


@law.obligation_due(forget(A))
def forget_an_alarm(cs):
    do(remove(seen(A)))


# -- (5, 5a) an expert becomes inspector and is subscribed, will it or not ---------------------


@law.sent(inspectorOnDuty(kind(_), med(_)))
def appoint_an_inspector(cs):
    require(cs.has(facilityManager))
    do(forward)


@law.arrived(inspectorOnDuty(kind(K), med(M)), sender=Manager)
def become_inspector(cs):
    """Put on duty again, for another mediator, it is subscribed there too."""
    require(cs.has(expert(K)))
    if not cs.has(inspector(K)):
        do(add(inspector(K)))
    if not cs.has(fm(Manager)):
        do(add(fm(Manager)))
    do(forward(Self, subscribe(alarm([kind(K)])), M))
    do(deliver)


# -- (5b, 5c) an alarm is acknowledged in ten minutes, or brings a metaAlarm -------------------


@law.sent(ack(A), to=Manager)
def acknowledge(cs):
    """One acknowledgement settles an alarm, in time and to a manager that the inspector serves."""
    require(cs.has(fm(Manager)))
    require(cs.obligation(handlingExpire(A, med(_))))
    do(repeal(handlingExpire(A, med(_))))
    do(forward)


@law.arrived(ack(_))
def hear_acknowledgement(cs):
    require(cs.has(facilityManager))
    do(deliver)


@law.obligation_due(handlingExpire(A, med(M)))
def raise_a_meta_alarm(cs, T, S):
    """Through the mediator that brought the alarm first."""
    T = cs.clock()
    if cs.has(expert(metaAlarm)):
        S = expert
    else:
        S = layman
    Text = unack(A)
    do(forward(
        Self,
        publish(alarm(kind(metaAlarm), time(T), informer(Self), status(S), text(Text))),
        M,
    ))


@law.exception(certify(C), Why)
def certificate_did_not_count(cs):
    do(deliver(Self, notCertified(C, Why), Self))
