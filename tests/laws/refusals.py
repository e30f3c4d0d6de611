"""Laws and what happens to one member under each, with refusals of every kind among it.

A line is a time in minutes, an event and, after `>`, whom a message is for: `ann` sends it, or
`mira: message` arrives from mira, or `admin! role` is a certificate.
"""

from __future__ import annotations

SHIPPED: dict[str, str] = {
    "ap": """
        0 publish(alarm(kind(fire), text(smoke))) > med
        1 publish(alarm(kind(fire), text(smoke))) > med
        4 publish(alarm(kind(fire), text(smoke))) > med
        6 publish(alarm(kind(fire), text(smoke))) > med
        7 mira: blockLay(water)
        8 publish(alarm(kind(water), text(leak))) > med
        9 mira: blockLay
        10 publish(alarm(kind(gas), text(smell))) > med
        11 notify(x) > bob
        12 blockLay > bob
        13 hum > bob
        14 ack(a) > mira
        15 subscribe(alarm([])) > med
        16 subscribe(alarm([kind(fire), kind(gas)])) > med
        17 admin! facilityManager
        18 blockLay > bob
        19 admin- facilityManager
        20 blockLay > bob
    """,
    "cc": """
        0 out([job, 1]) > jobs
        0 out([job, 2]) > jobs
        5 changeDelay(3) > jobs
        6 out([changeDelay, 1]) > jobs
        7 out([job, 3]) > [jobs, others]
    """,
    "cw": """
        0 in([company(bank1), class(banks), formal(any)]) > files
        1 in([company(bank2), class(banks), formal(any)]) > files
        2 in([company(oil1), class(oil), formal(any)]) > files
        3 out([company(bank1), class(banks), note]) > files
        4 unreact([company(gas1), class(gas)]) > files
        5 in([company(formal(any)), class(banks)]) > files
    """,
    "mp": """
        0 out([msg(hi), from('ann@ward'), to('bob@ward')]) > post
        1 out([msg(hi), from('eve@ward'), to('bob@ward')]) > post
        2 in([msg(formal(any)), from(formal(any)), to('bob@ward')]) > post
        3 hum > post
    """,
    "sb": """
        0 rd([requester(formal(any)), service(formal(any))]) > market
        1 admin! serviceProvider
        2 rd([requester(formal(any)), service(formal(any))]) > market
        3 out([offerFor(carl, paint), fee(4), provider(eve), contact(x)]) > market
        4 admin- serviceProvider
        5 rd([requester(formal(any)), service(formal(any))]) > market
        6 in([requester('eve@ward'), service(paint)]) > market
    """,
}

LAWS: dict[str, tuple[str, str]] = {
    "slots": (
        """initialCS([slot, slot]).
        R1. sent(_, _, _) :- slot@CS, do(-slot), do(imposeObligation(slot, 1, hour)), do(forward).
        R2. obligationDue(slot) :- do(+slot).""",
        """0 a > bob
           5 b > bob
           9 c > bob
           61 d > bob
           62 e > bob""",
    ),
    "quota": (
        """initialCS([left(2)]).
        R1. sent(_, _, _) :- left(K)@CS, K > 0, K1 is K - 1, do(left(K) <- left(K1)), do(forward).
        R2. arrived(boss, refill(N), _) :- left(K)@CS, do(left(K) <- left(N)).""",
        """0 a > bob
           1 b > bob
           2 c > bob
           3 boss: refill(1)
           4 d > bob
           5 e > bob""",
    ),
    "incr": (
        """initialCS([n(0)]).
        R1. sent(_, say(_), _) :- n(K)@CS, K < 2, do(incr(n(K), 1)), do(forward).""",
        """0 say(a) > bob
           1 say(b) > bob
           2 say(c) > bob""",
    ),
    "mute": (
        """R1. arrived(_, mute, _) :- do(+muted), do(imposeObligation(unmute, 10, min)).
        R2. obligationDue(unmute) :- do(-muted).
        R3. sent(_, _, _) :- not(muted@CS), do(forward).""",
        """0 mira: mute
           3 a > bob
           12 b > bob""",
    ),
    "ban": (
        """R1. arrived(X, ban(Y), _) :- do(+banned(Y, X)).
        R2. arrived(X, pardon(Y), _) :- do(-banned(Y, X)).
        R3. sent(_, _, Y) :- not(banned(Y, _)@CS), do(forward).""",
        """0 mira: ban('bob@ward')
           1 carl: ban('eve@ward')
           2 a > bob
           3 a > eve
           4 mira: pardon('bob@ward')
           5 a > bob""",
    ),
    "member": (
        """R1. arrived(_, welcome, _) :- do(+member).
        R2. sent(_, order(_), _) :- member@CS, do(forward).  % Only members order.""",
        """0 order(tea) > bar
           1 door: welcome
           2 order(tea) > bar""",
    ),
    "lost": (
        """initialCS([key]).
        R1. arrived(_, lose, _) :- do(-key).
        R2. sent(_, open, _) :- key@CS, do(forward).""",
        """0 open > door
           1 thief: lose
           2 open > door""",
    ),
    "level": (
        """initialCS([level(1)]).
        R1. arrived(_, promote, _) :- level(N)@CS, N1 is N + 1, do(level(N) <- level(N1)).
        R2. sent(_, secret(L), _) :- level(N)@CS, N >= L, do(forward).""",
        """0 secret(2) > bob
           1 boss: promote
           2 secret(2) > bob
           3 secret(3) > bob""",
    ),
    "steps": (
        """initialCS([at(idle)]).
        R1. sent(_, start, _) :- at(idle)@CS, do(at(idle) <- at(busy)), do(forward).
        R2. sent(_, stop, _) :- at(busy)@CS, do(at(busy) <- at(idle)), do(forward).""",
        """0 stop > bob
           1 start > bob
           2 start > bob""",
    ),
    "once": (
        """R1. sent(_, vote(X), _) :- not(voted(_)@CS), do(+voted(X)), do(forward).
        R2. sent(_, M, _) :- do(deliver(Self, refused(M), Self)).""",
        """0 vote(a) > box
           1 vote(b) > box""",
    ),
    "pace": (
        """R1. sent(_, _, _) :- not(obligation(wait)@CS),
            do(imposeObligation(wait, 2, min)), do(forward).
        R2. obligationDue(wait) :- true.""",
        """0 a > bob
           1 b > bob
           3 c > bob""",
    ),
    "owing": (
        """R1. arrived(X, task(N), _) :- do(imposeObligation(report(N), 1, day)).
        R2. sent(_, report(N), _) :- obligation(report(N))@CS,
            do(repealObligation(report(N))), do(forward).""",
        """0 report(1) > boss
           1 boss: task(1)
           2 report(1) > boss
           3 report(1) > boss""",
    ),
    "helper": (
        """R1. arrived(_, ban(Y), _) :- do(+banned(Y)).
        R2. sent(_, _, Y) :- friendly(Y), do(forward).
        friendly(Y) :- not(banned(Y)@CS).""",
        """0 a > bob
           1 mira: ban('bob@ward')
           2 a > bob""",
    ),
    "ladder": (
        """initialCS([coin]).
        R1. sent(_, buy, _) :- coin@CS, do(-coin),
            do(imposeObligation(pay(1), 1, hour)), do(forward).
        R2. obligationDue(pay(N)) :- N < 2, N1 is N + 1, do(imposeObligation(pay(N1), 1, hour)).
        R3. obligationDue(pay(2)) :- do(+coin).""",
        """0 buy > shop
           30 buy > shop""",
    ),
    "shout": (
        """R1. sent(_, M, _) :- M = say(X), atom_length(X, N), N < 5, do(forward).""",
        """0 say(hi) > bob
           1 say(attention) > bob
           2 hum > bob""",
    ),
    "list": (
        """initialCS([may([read, list])]).
        R1. sent(_, op(X), _) :- may(L)@CS, member(X, L), do(forward).
        R2. arrived(_, grant(X), _) :- may(L)@CS, append(L, [X], L1), do(may(L) <- may(L1)).""",
        """0 op(write) > disk
           1 boss: grant(write)
           2 op(write) > disk
           3 op(drop) > disk""",
    ),
    "two": (
        """R1. arrived(_, a, _) :- do(+a).
        R2. arrived(_, b, _) :- do(+b).
        R3. sent(_, go, _) :- a@CS, b@CS, do(forward).""",
        """0 go > bob
           1 x: a
           2 go > bob
           3 x: b
           4 go > bob""",
    ),
    "either": (
        """R1. sent(_, go, _) :- ( pass@CS ; guest@CS ), do(forward).
        R2. arrived(_, guest, _) :- do(+guest), do(imposeObligation(leave, 1, min)).
        R3. obligationDue(leave) :- do(-guest).""",
        """0 go > bob
           1 x: guest
           1 go > bob
           5 go > bob""",
    ),
    "certified": (
        """authority(admin, admin_key).
        R1. certified([issuer(admin), subject(Self), attributes([role(R)])]) :- do(+R).
        R2. revoked([issuer(admin), subject(Self), attributes([role(R)])]) :- do(-R).
        R3. sent(_, treat(_), _) :- doctor@CS, do(forward).""",
        """0 treat(x) > bob
           1 admin! doctor
           2 treat(x) > bob
           3 admin- doctor
           4 treat(x) > bob""",
    ),
    "fines": (
        """initialCS([points(0)]).
        R1. arrived(_, fine(N), _) :- points(P)@CS, P1 is P + N, do(points(P) <- points(P1)),
            do(imposeObligation(forgive(N), 2, hour)).
        R2. obligationDue(forgive(N)) :- points(P)@CS, P1 is P - N, do(points(P) <- points(P1)).
        R3. sent(_, _, _) :- points(P)@CS, P < 3, do(forward).""",
        """0 law: fine(1)
           10 law: fine(2)
           20 a > bob
           125 b > bob
           130 law: fine(5)
           131 c > bob""",
    ),
}
