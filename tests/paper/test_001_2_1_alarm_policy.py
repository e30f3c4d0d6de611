"""`001_…` section 2.1: the alarm policy of a hospital, point by point (law AP, its section 4)."""

from typing import Any

import pytest

from nomospace.terms import Compound, show, term
from tests.paper.community import Community
from tests.paper.conftest import Found

MED, MED2, FM = "med@h", "med2@h", "fm@h"
FRED, FAY = "fred@h", "fay@h"  # fire experts
MONA, MAX = "mona@h", "max@h"  # metaAlarm experts
LEE, LOU = "lee@h", "lou@h"  # laymen in everything
MINUTE = 60


class Mediators:
    """Publish and subscribe, by exact matching: whatever was published goes to all who asked."""

    def __init__(self, hospital: Community) -> None:
        self.hospital = hospital
        self.wanted: dict[str, list[tuple[str, frozenset[object]]]] = {MED: [], MED2: []}

    def work(self) -> None:
        """Serve what has come in, until nothing is left to serve."""
        served = True
        while served:
            served = bool(sum(self._serve(mediator) for mediator in self.wanted))

    def _serve(self, mediator: str) -> bool:
        letters = self.hospital.read(mediator)
        for letter in letters:
            message: Any = term(letter.message)
            alarm = message.args[0]
            if message.name == "subscribe":
                self.wanted[mediator].append((letter.sender, frozenset(alarm.args[0])))
            else:
                given = frozenset(alarm.args)
                asked = [who for who, criteria in self.wanted[mediator] if criteria <= given]
                for who in dict.fromkeys(asked):
                    self.hospital.send(mediator, f"notify({show(alarm)})", who)
        return bool(letters)


@pytest.fixture
def hospital(found: Found) -> Community:
    community = found("ap")
    community.join(MED, MED2, FM, FRED, FAY, MONA, MAX, LEE, LOU)
    community.certify(MED, "mediator")
    community.certify(MED2, "mediator")
    community.certify(FM, "facilityManager")
    for expert in (FRED, FAY):
        community.certify(expert, "expert(fire)")
    for expert in (MONA, MAX):
        community.certify(expert, "expert(metaAlarm)")
    return community


@pytest.fixture
def mediators(hospital: Community) -> Mediators:
    return Mediators(hospital)


def fire(text: str = "smoke") -> str:
    return f"publish(alarm(kind(fire), text({text})))"


def alarm(
    informer: str, status: str, *, at: int = 0, kind: str = "fire", text: str = "smoke"
) -> str:
    return show(
        term(
            f"alarm(kind({kind}), time({at}), informer('{informer}'), status({status}), "
            f"text({text}))"
        )
    )


def duties(hospital: Community, agent: str) -> list[tuple[float, str]]:
    return [
        (at, what) for at, what in hospital.pending(agent) if what.startswith("handlingExpire(")
    ]


def meta_alarms(hospital: Community) -> list[tuple[float, str, str]]:
    """All metaAlarms that went to a mediator: when, from whom, with what status."""
    found = []
    for mediator in (MED, MED2):
        for letter in hospital.sent_to(mediator):
            message: Any = term(letter.message)
            if message.name == "publish" and message.args[0].args[0] == Compound(
                "kind", ("metaAlarm",)
            ):
                status = message.args[0].args[3]
                found.append((letter.at, letter.sender, status.args[0]))
    return sorted(found)


def on_duty(hospital: Community, inspector: str, kind: str = "fire", mediator: str = MED) -> None:
    hospital.send(FM, f"inspectorOnDuty(kind({kind}), med('{mediator}'))", inspector)
    hospital.read(inspector)


# -- 1: roles are certified ----------------------------------------------------------------


@pytest.mark.parametrize("role", ["facilityManager", "mediator", "expert(blood)"])
def test_point_1_roles_come_from_certificates_of_admin(hospital: Community, role: str) -> None:
    """Point 1: who shows admin's certificate about itself has the role, once."""
    assert hospital.certify(LEE, role).rule == "R1"
    hospital.certify(LEE, role)
    assert hospital.state(LEE) == [role]
    hospital.revoke(LEE, role)
    assert hospital.state(LEE) == []


@pytest.mark.parametrize("role", ["inspector(fire)", "tupleSpace", "blocked", "admin"])
def test_point_1_admin_certifies_these_roles_only(hospital: Community, role: str) -> None:
    """Point 1: nothing else gets into a control state by certificate."""
    assert hospital.certify(LEE, role).rule is None
    assert hospital.state(LEE) == []


def test_point_1_other_people_s_certificates_do_not_count(hospital: Community) -> None:
    """Point 1: neither one about somebody else nor one by somebody else."""
    hospital.certify(LEE, "mediator", subject=MED)
    hospital.certify(LEE, "mediator", issuer="lou")
    assert hospital.state(LEE) == []


# -- 2: through mediators ------------------------------------------------------------------


@pytest.mark.parametrize("message", [fire(), "subscribe(alarm([kind(fire)]))"])
def test_point_2_only_mediators_receive(hospital: Community, message: str) -> None:
    """Point 2: what goes to an agent that is no mediator never reaches it."""
    hospital.send(LEE, message, LOU)
    assert hospital.read(LOU) == []
    hospital.send(FRED, message, MED)
    assert len(hospital.read(MED)) == 1


def test_point_2_only_mediators_notify(hospital: Community) -> None:
    """Point 2: nobody spreads alarms past the mediators."""
    news = f"notify({alarm(FRED, 'expert')})"
    for agent in (LEE, FRED, FM):
        assert hospital.send(agent, news, LOU).refused
    assert hospital.read(LOU) == []
    assert hospital.send(MED, news, (LOU, LEE)).rule == "R5"
    assert len(hospital.read(LOU)) == len(hospital.read(LEE)) == 1


def test_point_2_a_mediator_that_is_revoked_mediates_no_more(hospital: Community) -> None:
    """Points 1 and 2 together."""
    hospital.revoke(MED, "mediator")
    hospital.send(FRED, fire(), MED)
    assert hospital.read(MED) == []
    assert hospital.send(MED, f"notify({alarm(FRED, 'expert')})", LOU).refused


def test_point_2_nobody_writes_its_own_particulars(hospital: Community) -> None:
    """Point 2, and section 4.1 on R3: time, informer and status are the law's to fill in."""
    hospital.advance(7)
    assert hospital.send(LEE, f"publish({alarm(FRED, 'expert')})", MED).refused
    hospital.send(LEE, fire(), MED)
    assert hospital.messages(MED) == [f"publish({alarm(LEE, 'layman', at=7)})"]
    hospital.send(FRED, fire(), MED)
    assert hospital.messages(MED) == [f"publish({alarm(FRED, 'expert', at=7)})"]


# -- 3: who hears whom ---------------------------------------------------------------------


def test_point_3_who_receives_whose_alarms(hospital: Community, mediators: Mediators) -> None:
    """Point 3 and Figure 1: experts' alarms are for everyone, laymen's for experts."""
    for agent in (LEE, LOU, FRED, FAY):
        hospital.send(agent, "subscribe(alarm([kind(fire)]))", MED)
    hospital.send(LEE, fire("from(lee)"), MED)
    mediators.work()
    assert {a: len(hospital.read(a)) for a in (LEE, LOU, FRED, FAY)} == {
        LEE: 0,
        LOU: 0,
        FRED: 1,
        FAY: 1,
    }
    hospital.send(FRED, fire("from(fred)"), MED)
    mediators.work()
    assert [len(hospital.read(a)) for a in (LEE, LOU, FRED, FAY)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("asked", "passed"),
    [
        ("[kind(fire)]", "[kind(fire),status(expert)]"),
        ("[status(layman),kind(fire)]", "[kind(fire),status(expert)]"),
        ("[kind(fire),status(layman),status(layman)]", "[kind(fire),status(expert)]"),
        ("[kind(fire),status(expert)]", "[kind(fire),status(expert)]"),
        ("[kind(fire),status(formal(any))]", "[kind(fire),status(expert)]"),
        ("[kind(fire),informer('fay@h')]", "[kind(fire),informer('fay@h'),status(expert)]"),
    ],
)
def test_point_3_a_layman_s_subscription_is_to_experts_alarms(
    hospital: Community, asked: str, passed: str
) -> None:
    """Point 3: a layman's criteria are narrowed on their way, an expert's are not."""
    hospital.send(LEE, f"subscribe(alarm({asked}))", MED)
    assert hospital.messages(MED) == [f"subscribe(alarm({passed}))"]
    hospital.send(FRED, f"subscribe(alarm({asked}))", MED)
    assert hospital.messages(MED) == [f"subscribe(alarm({asked}))"]


@pytest.mark.parametrize("asked", ["[]", "[status(expert)]", "[kind(fire), kind(blood)]", "fire"])
def test_point_3_a_subscription_is_to_one_kind(hospital: Community, asked: str) -> None:
    """Point 3: an expert in one kind cannot slip another kind into its criteria."""
    assert hospital.send(FRED, f"subscribe(alarm({asked}))", MED).refused


@pytest.mark.parametrize("status", ["layman", "novice", "formal(any)"])
def test_point_3_holds_under_a_faulty_mediator(hospital: Community, status: str) -> None:
    """Point 3: a layman is not handed a layman's alarm, whatever a mediator sends it."""
    hospital.send(MED, f"notify({alarm(LOU, status)})", (LEE, FRED, MONA))
    assert [len(hospital.read(agent)) for agent in (LEE, FRED, MONA)] == [0, 1, 0]


def test_point_3_expertise_is_in_a_kind(hospital: Community) -> None:
    """Point 3: a fire expert is a layman as to blood."""
    hospital.send(FRED, "publish(alarm(kind(blood), text(low)))", MED)
    assert hospital.messages(MED) == [f"publish({alarm(FRED, 'layman', kind='blood', text='low')})"]
    hospital.send(MED, f"notify({alarm(LOU, 'layman', kind='blood')})", FRED)
    assert hospital.read(FRED) == []


# -- 4: how often, and at all --------------------------------------------------------------


def test_point_4_the_same_alarm_once_in_five_minutes(hospital: Community) -> None:
    """Point 4: of a layman. Another alarm, and an expert's, may come at any time."""
    assert hospital.send(LEE, fire(), MED).rule == "R3"
    assert hospital.send(LEE, fire(), MED).refused
    assert hospital.send(LEE, fire(), MED2).refused  # through another mediator it is still the same
    assert hospital.send(LEE, fire("flames"), MED).rule == "R3"
    assert hospital.send(LOU, fire(), MED).rule == "R3"
    hospital.advance(5 * MINUTE - 1)
    assert hospital.send(LEE, fire(), MED).refused
    hospital.advance(1)
    assert hospital.send(LEE, fire(), MED).rule == "R3"
    assert hospital.send(LEE, fire(), MED).refused
    for _ in range(3):
        assert hospital.send(FRED, fire(), MED).rule == "R3"


def test_point_4_a_manager_blocks_laymen_altogether(hospital: Community) -> None:
    """Point 4: from publishing any alarm."""
    assert hospital.send(FM, "blockLay", (LEE, FRED)).rule == "R10a"
    assert hospital.messages(LEE) == ["blockLay"]
    hospital.advance(60 * MINUTE)
    for kind in ("fire", "blood", "metaAlarm"):
        assert hospital.send(LEE, f"publish(alarm(kind({kind}), text(x)))", MED).refused
    assert hospital.send(LOU, fire(), MED).rule == "R3"
    # An expert is blocked where it is a layman, and nowhere else.
    assert hospital.send(FRED, fire(), MED).rule == "R3"
    assert hospital.send(FRED, "publish(alarm(kind(blood), text(low)))", MED).refused


def test_point_4_a_manager_blocks_laymen_from_one_kind(hospital: Community) -> None:
    """Point 4 as the printed law reads it; experts in that kind cannot be blocked."""
    hospital.send(FM, "blockLay(fire)", (LEE, FRED))
    assert hospital.send(LEE, fire(), MED).refused
    assert hospital.send(LEE, "publish(alarm(kind(blood), text(low)))", MED).rule == "R3"
    assert hospital.send(FRED, fire(), MED).rule == "R3"
    assert hospital.state(FRED) == ["expert(fire)"]


@pytest.mark.parametrize(
    "order", ["blockLay", "blockLay(fire)", "inspectorOnDuty(kind(fire), med(m))"]
)
def test_points_4_and_5_only_a_facility_manager_gives_orders(
    hospital: Community, order: str
) -> None:
    """Points 4 and 5: an order of anybody else goes nowhere, also when its sender was one once."""
    for agent in (LOU, FAY, MED):
        assert hospital.send(agent, order, FRED).refused
    hospital.revoke(FM, "facilityManager")
    assert hospital.send(FM, order, FRED).refused
    assert hospital.state(FRED) == ["expert(fire)"]


# -- 5: inspectors -------------------------------------------------------------------------


def test_point_5_only_an_expert_becomes_inspector(hospital: Community) -> None:
    """Point 5: an expert in that kind."""
    for agent in (LEE, MONA):
        on_duty(hospital, agent)
    assert hospital.state(LEE) == []
    assert hospital.state(MONA) == ["expert(metaAlarm)"]
    hospital.send(FM, f"inspectorOnDuty(kind(fire), med('{MED}'))", FRED)
    assert hospital.messages(FRED) == [f"inspectorOnDuty(kind(fire),med('{MED}'))"]
    assert hospital.state(FRED) == ["expert(fire)", "inspector(fire)", f"fm('{FM}')"]
    on_duty(hospital, FRED, mediator=MED2)
    assert hospital.state(FRED) == ["expert(fire)", "inspector(fire)", f"fm('{FM}')"]


def test_point_5_duty_ends_with_expertise(hospital: Community) -> None:
    """Points 1 and 5: a revoked expert takes on no new duties; those it has stay."""
    on_duty(hospital, FRED)
    hospital.send(MED, f"notify({alarm(LEE, 'layman')})", FRED)
    hospital.revoke(FRED, "expert(fire)")
    hospital.send(MED, f"notify({alarm(LOU, 'layman')})", FRED)
    hospital.certify(FRED, "expert(fire)")  # an expert again, but on duty no longer
    hospital.send(MED, f"notify({alarm(LOU, 'layman', at=1)})", FRED)
    assert len(duties(hospital, FRED)) == 1
    hospital.advance(10 * MINUTE)
    assert meta_alarms(hospital) == [(10 * MINUTE, FRED, "layman")]


def test_point_5a_an_inspector_is_subscribed(hospital: Community, mediators: Mediators) -> None:
    """Point 5a: to all alarms of its kind, without doing anything for it."""
    on_duty(hospital, FRED)
    assert [letter[1:] for letter in hospital.sent_to(MED)] == [
        (FRED, "subscribe(alarm([kind(fire)]))")
    ]
    mediators.work()
    hospital.send(LEE, fire(), MED)
    hospital.send(FAY, fire(), MED)
    mediators.work()
    assert len(hospital.read(FRED)) == 2


def test_point_5b_an_acknowledgement_in_time_settles_an_alarm(hospital: Community) -> None:
    """Point 5b: a copy of the alarm to the facility manager, within ten minutes."""
    on_duty(hospital, FRED)
    seen = alarm(LEE, "layman")
    hospital.send(MED, f"notify({seen})", FRED)
    assert duties(hospital, FRED) == [(10 * MINUTE, f"handlingExpire({seen},med('{MED}'))")]
    hospital.advance(10 * MINUTE - 1)
    assert hospital.send(FRED, f"ack({seen})", FM).rule == "R12"
    assert hospital.messages(FM) == [f"ack({seen})"]
    hospital.advance(60 * MINUTE)
    assert meta_alarms(hospital) == []


def test_point_5b_is_about_laymen_s_alarms_and_inspectors(hospital: Community) -> None:
    """Point 5b: no duty from an expert's alarm, and none for who is not on duty."""
    on_duty(hospital, FRED)
    hospital.send(MED, f"notify({alarm(FAY, 'expert')})", FRED)
    hospital.send(MED, f"notify({alarm(LEE, 'layman')})", FAY)
    assert duties(hospital, FRED) == duties(hospital, FAY) == []


def test_point_5b_what_is_no_acknowledgement(hospital: Community) -> None:
    """Point 5b: of another alarm, to somebody else, twice, or too late."""
    on_duty(hospital, FRED)
    seen = alarm(LEE, "layman")
    hospital.send(MED, f"notify({seen})", FRED)
    assert hospital.send(FRED, f"ack({alarm(LOU, 'layman')})", FM).refused
    assert hospital.send(FRED, f"ack({seen})", LEE).refused
    assert hospital.send(FAY, f"ack({seen})", FM).refused
    assert hospital.send(FRED, f"ack({seen})", FM).rule == "R12"
    assert hospital.send(FRED, f"ack({seen})", FM).refused
    late = alarm(LOU, "layman")
    hospital.send(MED, f"notify({late})", FRED)
    hospital.advance(10 * MINUTE)
    assert hospital.send(FRED, f"ack({late})", FM).refused
    assert hospital.messages(FM) == [f"ack({seen})"]


def test_point_5c_a_missed_alarm_brings_a_metaalarm(hospital: Community) -> None:
    """Point 5c: it names the alarm and the inspector, and goes where the alarm came from."""
    on_duty(hospital, FRED, mediator=MED2)
    missed = alarm(LEE, "layman")
    hospital.send(MED2, f"notify({missed})", FRED)
    hospital.read(MED2)
    hospital.advance(60 * MINUTE)
    assert hospital.messages(MED2) == [
        f"publish({alarm(FRED, 'layman', at=600, kind='metaAlarm', text=f'unack({missed})')})"
    ]


def test_point_5c_metaalarms_are_for_their_experts(hospital: Community) -> None:
    """Point 5c: an expert's metaAlarm too reaches only experts in metaAlarms."""
    assert hospital.send(FRED, "subscribe(alarm([kind(metaAlarm)]))", MED).refused
    assert hospital.send(LEE, "subscribe(alarm([kind(metaAlarm)]))", MED).refused
    assert hospital.send(MONA, "subscribe(alarm([kind(metaAlarm)]))", MED).rule == "R2"
    for status in ("expert", "layman"):
        news = f"notify({alarm(MONA, status, kind='metaAlarm')})"
        hospital.send(MED, news, (LEE, FRED, FM, MONA, MAX))
        got = [len(hospital.read(agent)) for agent in (LEE, FRED, FM, MONA, MAX)]
        assert got == [0, 0, 0, 1, 1]


def test_point_5b_one_acknowledgement_settles_all_copies(hospital: Community) -> None:
    """Point 5b with several mediators: copies before and after the acknowledgement."""
    on_duty(hospital, FRED)
    seen = alarm(LEE, "layman")
    hospital.send(MED, f"notify({seen})", FRED)
    hospital.advance(MINUTE)
    hospital.send(MED2, f"notify({seen})", FRED)
    assert len(hospital.read(FRED)) == 2
    hospital.send(FRED, f"ack({seen})", FM)
    hospital.send(MED2, f"notify({seen})", FRED)
    hospital.advance(12 * 60 * MINUTE)
    hospital.send(MED, f"notify({seen})", FRED)
    hospital.advance(60 * MINUTE)
    assert meta_alarms(hospital) == []


def test_point_5c_one_metaalarm_from_an_inspector_however_many_copies(hospital: Community) -> None:
    """Point 5c with several mediators: copies before and after the metaAlarm."""
    for inspector in (FRED, FAY):
        on_duty(hospital, inspector)
    missed = alarm(LEE, "layman")
    hospital.send(MED, f"notify({missed})", (FRED, FAY))
    hospital.advance(9 * MINUTE)
    hospital.send(MED2, f"notify({missed})", (FRED, FAY))
    hospital.advance(9 * MINUTE)
    hospital.send(MED2, f"notify({missed})", (FRED, FAY))
    hospital.advance(20 * 60 * MINUTE)
    hospital.send(MED, f"notify({missed})", (FRED, FAY))
    hospital.advance(60 * MINUTE)
    assert meta_alarms(hospital) == [(10 * MINUTE, FAY, "layman"), (10 * MINUTE, FRED, "layman")]


def test_point_5c_the_same_words_at_another_time_are_another_alarm(hospital: Community) -> None:
    """Point 5c: each unacknowledged alarm counts for itself."""
    on_duty(hospital, FRED)
    hospital.send(MED, f"notify({alarm(LEE, 'layman', at=0)})", FRED)
    hospital.send(MED, f"notify({alarm(LEE, 'layman', at=300)})", FRED)
    hospital.advance(60 * MINUTE)
    assert len(meta_alarms(hospital)) == 2


def test_what_an_inspector_has_seen_is_forgotten_after_a_day(hospital: Community) -> None:
    """Not in the paper: memory of alarms has an end."""
    on_duty(hospital, FRED)
    before = hospital.state(FRED)
    hospital.send(MED, f"notify({alarm(LEE, 'layman')})", FRED)
    hospital.advance(24 * 60 * MINUTE)
    assert hospital.state(FRED) == before
    assert hospital.pending(FRED) == []


def test_point_5c_metaalarms_about_metaalarms_end(
    hospital: Community, mediators: Mediators
) -> None:
    """Point 5c, when nobody is attentive: two links, then silence."""
    on_duty(hospital, FRED)
    for inspector in (MONA, MAX):
        on_duty(hospital, inspector, kind="metaAlarm")
    mediators.work()
    hospital.send(LEE, fire(), MED)
    mediators.work()
    for _ in range(10):
        hospital.advance(60 * MINUTE)
        mediators.work()
    assert meta_alarms(hospital) == [
        (600, FRED, "layman"),
        (3600 + 600, MAX, "expert"),
        (3600 + 600, MONA, "expert"),
    ]
    assert duties(hospital, MONA) == duties(hospital, MAX) == []


def test_point_5c_a_metaalarm_can_be_acknowledged(
    hospital: Community, mediators: Mediators
) -> None:
    """Point 5b for metaAlarms: its inspector has a duty as any other."""
    on_duty(hospital, FRED)
    on_duty(hospital, MONA, kind="metaAlarm")
    mediators.work()
    hospital.send(LEE, fire(), MED)
    mediators.work()
    hospital.advance(10 * MINUTE)
    mediators.work()
    (notice,) = hospital.messages(MONA)
    assert hospital.send(MONA, notice.replace("notify(", "ack(", 1), FM).rule == "R12"
    hospital.advance(60 * MINUTE)
    assert [who for _, who, _ in meta_alarms(hospital)] == [FRED]
