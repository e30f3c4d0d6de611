"""The HTTP API over a running host: what may be asked, by whom, and what comes of bad input."""

import asyncio
import json
from typing import Any

import pytest

from nomospace import t
from nomospace.api.service import TooManySeats
from nomospace.law import load
from nomospace.node.principals import Principal
from tests.unit.api.web import AGENT, Web, on_the_web

pytestmark = pytest.mark.usefixtures("born_alike")

OPEN_LAW = "law(open). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."
SHUT_LAW = "law(shut). R1. sent(_, ping(_), _) :- loud@CS, do(forward)."


def test_nothing_is_seen_without_a_token_but_health_and_the_document() -> None:
    async def work(web: Web) -> None:
        assert (await web("GET", "/health", token="")).json() == {"host": "ward", "well": True}
        document = (await web("GET", "/v1/openapi.json", token="")).json()
        for path, methods in document["paths"].items():
            for method in methods:
                if (path, method) in (("/health", "get"), ("/v1/session", "post")):
                    continue
                answer = await web(method.upper(), path, token="")
                assert answer.status_code == 401, (method, path)
        assert (await web("GET", "/nowhere", token="")).status_code == 401
        assert (await web("GET", "/v1/me", token="guess")).status_code == 401
        assert (await web("GET", "/nowhere")).json()["code"] == "api.no-such-resource"

    on_the_web(work)


def test_an_agents_token_acts_for_that_agent_and_sees_nothing_else() -> None:
    async def work(web: Web) -> None:
        me = (await web("GET", "/v1/me")).json()
        assert me == {"name": "token ann", "agents": ["ann@ward"], "operator": False}
        other = "/v1/agents/bob@ward"
        for path, body in (
            (f"{other}/spaces/jobs/out", {"fields": [1]}),
            (f"{other}/spaces/jobs/take", {"template": [1]}),
            (f"{other}/communities", {"text": OPEN_LAW}),
            (f"{other}/move", {"to": "icu"}),
        ):
            answer = await web("POST", path, body)
            assert (answer.status_code, answer.json()["code"]) == (403, "node.not-your-agent")
            # An operator sees everything, and still speaks for nobody.
            assert (await web("POST", path, body, token="ops")).status_code == 403
        for path in (
            "topology",
            "agents",
            "communities",
            "spaces",
            "rulings",
            "journal",
            "metrics",
        ):
            assert (await web("GET", f"/v1/{path}")).json()["code"] == "node.not-an-operator"
            assert (await web("GET", f"/v1/{path}", token="ops")).status_code == 200
        assert (await web("GET", "/v1/events")).status_code == 403
        assert (await web("GET", other)).status_code == 403
        assert (await web("GET", AGENT)).json()["host"] == ""

    on_the_web(work)


def test_tuples_are_written_read_taken_lent_and_settled() -> None:
    async def work(web: Web) -> None:
        jobs = f"{AGENT}/spaces/jobs"
        car = {"class": "Car", "id": "c1", "properties": {"price": 5}}
        fields = ["job", 17, 2.5, None, True, [1, "x"], {"term": "room(3)"}, car]
        assert (await web("POST", f"{jobs}/out", {"fields": fields})).json() == {"written": 1}
        template = [*fields[:1], {"pattern": "_:int"}, *fields[2:]]
        read = (await web("POST", f"{jobs}/read", {"template": template})).json()["tuple"]
        assert read["fields"] == fields
        lent = await web("POST", f"{jobs}/take", {"template": template, "lease": 30})
        lease = lent.json()["tuple"]["lease"]
        gone = await web("POST", f"{jobs}/take", {"template": template})
        assert gone.json() == {"tuple": None}
        settle = {"lease": lease, "done": False}
        assert (await web("POST", f"{jobs}/settle", settle)).json() == {"done": False}
        late = await web("POST", f"{jobs}/settle", settle)
        assert (late.status_code, late.json()["code"]) == (410, "space.lease-lapsed")
        taken = (await web("POST", f"{jobs}/take", {"template": template})).json()["tuple"]
        assert (taken["fields"], taken["deliveries"]) == (fields, 1)
        rows = {"rows": [["n", n] for n in range(3)]}
        assert (await web("POST", f"{jobs}/out-many", rows)).json() == {"written": 3}
        every = {"template": ["n", {"pattern": "_:1..2"}]}
        for way in ("read-all", "take-all"):
            found = (await web("POST", f"{jobs}/{way}", every)).json()["tuples"]
            assert [one["fields"] for one in found] == [["n", 1], ["n", 2]]
        assert (await web("POST", f"{jobs}/read-all", every)).json() == {"tuples": []}
        for _ in range(2):
            await web("POST", f"{jobs}/out", {"fields": ["once"], "once": "k"})
        found = (await web("POST", f"{jobs}/read-all", {"template": ["once"]})).json()
        assert len(found["tuples"]) == 1

    on_the_web(work)


def test_a_partitioned_space_and_what_is_wrong_with_it() -> None:
    async def work(web: Web) -> None:
        jobs = f"{AGENT}/spaces/jobs"
        opened = await web("POST", jobs, {"partition": "1"})
        assert opened.json() == {"name": "jobs", "shared": True}
        await web("POST", f"{jobs}/out", {"fields": ["job", 17]})
        taken = await web("POST", f"{jobs}/take", {"template": ["job", 17]})
        assert taken.json()["tuple"]["source"] == "@ward"
        for path, body, code in (
            (jobs, {"partition": "0"}, "space.other-partition"),
            (f"{AGENT}/spaces/new", {"partition": "one"}, "space.bad-partition"),
            (f"{AGENT}/spaces/new", {"partition": "1", "engine": "store"}, "space.other-engine"),
            (f"{jobs}/out", {"fields": ["job"]}, "space.no-key"),
            (f"{jobs}/take", {"template": ["job"]}, "space.no-key"),
        ):
            answer = await web("POST", path, body)
            assert (answer.json()["code"], answer.status_code < 500) == (code, True)
        assert (await web("POST", "/v1/contact/drain")).status_code == 403
        for way, drained in (("POST", True), ("GET", True), ("DELETE", False), ("GET", False)):
            line = (await web(way, "/v1/contact/drain", token="ops")).json()
            assert line == {
                "host": "ward",
                "drained": drained,
                "left": 0,
                "moving": 0,
                "alone": ["jobs"],
            }

    on_the_web(work)


def test_a_take_waits_for_a_tuple_that_comes() -> None:
    async def work(web: Web) -> None:
        jobs = f"{AGENT}/spaces/jobs"
        waiting = asyncio.create_task(
            web("POST", f"{jobs}/take", {"template": ["late"], "wait": 20})
        )
        while not web.service.views.spaces() or not web.service.views.spaces()[0].waiting:
            await asyncio.sleep(0.01)
        await web("POST", f"{jobs}/out", {"fields": ["late"]})
        assert (await waiting).json()["tuple"]["fields"] == ["late"]
        none = await web("POST", f"{jobs}/take", {"template": ["late"], "wait": 0.05})
        assert none.json() == {"tuple": None}

    on_the_web(work)


def test_a_member_adopts_sends_receives_and_learns_why_not() -> None:
    async def work(web: Web) -> None:
        told = (await web("POST", f"{AGENT}/communities", {"text": OPEN_LAW})).json()
        law = f"{AGENT}/communities/{told['law']}"
        sent = await web("POST", f"{law}/send", {"message": "hi(there)", "to": "ann@ward"})
        assert (sent.json()["rule"], sent.json()["refused"]) == ("R1", False)
        found = (await web("GET", f"{law}/inbox?wait=5")).json()
        assert found["letters"] == [
            {"number": 1, "sender": "ann@ward", "message": {"term": "hi(there)"}}
        ]
        assert (await web("GET", f"{law}/inbox")).json() == found
        assert (await web("GET", f"{law}/inbox?after={found['last']}")).json()["letters"] == []
        again = await web("POST", f"{AGENT}/communities", {"text": OPEN_LAW})
        assert (again.status_code, again.json()["code"]) == (409, "law.already-a-member")

        shut = (await web("POST", f"{AGENT}/communities", {"text": SHUT_LAW})).json()["law"]
        path = f"{AGENT}/communities/{shut}/send"
        no = (await web("POST", path, {"message": "ping(1)", "to": "ann@ward"})).json()
        assert no["refused"]
        assert "loud@CS" in no["explanation"]
        rulings = (await web("GET", "/v1/rulings", token="ops")).json()["rulings"]
        (refused,) = [one for one in rulings if one["refused"]]
        why = await web("GET", f"/v1/rulings/{refused['record']}/why", token="ops")
        assert why.json()["tried"][0]["failed"]["goal"] == "loud@CS"
        text = (await web("GET", f"/v1/laws/{shut}", token="ops")).json()
        assert (text["text"], text["rules"][0]["hits"]) == (SHUT_LAW, 0)

    on_the_web(work)


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("spaces/jobs/out", {"fields": []}, 422, "api.bad-shape"),
        ("spaces/jobs/out", {"feilds": [1]}, 422, "api.bad-shape"),
        ("spaces/jobs/out", {"fields": [{"class": "Car", "romm": 1}]}, 400, "api.bad-field"),
        ("spaces/jobs/out", {"fields": [{"pattern": "_"}]}, 400, "api.bad-field"),
        ("spaces/jobs/out", {"fields": [{"term": "Smith"}]}, 422, "law.faulty"),
        ("spaces/jobs/out", {"fields": [1], "to": "nobody"}, 400, "client.bad-place"),
        ("spaces/jobs/take", {"template": [{"pattern": "_:itn"}]}, 422, "law.faulty"),
        ("spaces/jobs/take", {"template": [1], "wait": 1e9}, 422, "api.bad-shape"),
        ("spaces/a b/out", {"fields": [1]}, 400, "client.bad-name"),
        ("spaces/LimeSystem/out", {"fields": [1]}, 400, "space.read-only"),
        ("communities", {"text": "law(broken"}, 422, "law.faulty"),
        ("communities", {"law": "nobody-has-it"}, 404, "api.no-such-law"),
        (
            "communities/" + "0" * 64 + "/send",
            {"message": "x", "to": "b@w"},
            404,
            "api.not-a-member",
        ),
        ("move", {"to": "nowhere"}, 404, "api.no-such-host"),
        ("communities/xyz/send", {"message": "x", "to": "b@w"}, 422, "api.bad-shape"),
    ],
)
def test_bad_input_is_answered_with_what_is_wrong(
    path: str, body: Any, status: int, code: str
) -> None:
    async def work(web: Web) -> None:
        answer = await web("POST", f"{AGENT}/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)

    on_the_web(work)


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 3_000])
def test_a_body_that_is_no_json_is_said_to_be_none(body: bytes) -> None:
    async def work(web: Web) -> None:
        kind = {"content-type": "application/json"}
        answer = await web("POST", f"{AGENT}/spaces/jobs/out", content=body, headers=kind)
        assert (answer.status_code, answer.json()["code"]) == (422, "api.bad-shape")

    on_the_web(work)


def test_a_certificate_is_never_taken_for_the_name_of_a_file() -> None:
    async def work(web: Web) -> None:
        law = (await web("POST", f"{AGENT}/communities", {"text": OPEN_LAW})).json()["law"]
        path = f"{AGENT}/communities/{law}/certificates"
        answer = await web("POST", path, {"pem": "/etc/passwd"})
        assert answer.status_code == 400
        assert "root:" not in answer.text
        assert answer.json()["code"] != "client.no-certificate"

    on_the_web(work)


def test_a_browser_logs_in_once_with_a_token_and_only_its_own_pages_may_act() -> None:
    async def work(web: Web) -> None:
        token = (await web("POST", "/v1/login-tokens")).json()["token"]
        answer = await web("POST", "/v1/session", {"token": token}, token="")
        assert answer.status_code == 204
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert (await web("GET", "/v1/me", token="")).json()["agents"] == ["ann@ward"]
        out = f"{AGENT}/spaces/jobs/out"
        for origin in ({}, {"origin": "http://evil"}, {"origin": "null"}):
            no = await web("POST", out, {"fields": [1]}, token="", headers=origin)
            assert (no.status_code, no.json()["code"]) == (403, "api.other-origin")
        own = {"origin": "http://ward"}
        yes = await web("POST", out, {"fields": [1]}, token="", headers=own)
        assert yes.status_code == 200
        assert (await web("DELETE", "/v1/session", token="", headers=own)).status_code == 204
        assert (await web("GET", "/v1/me", token="")).status_code == 401
        once = await web("POST", "/v1/session", {"token": token}, token="")
        assert once.status_code == 401

    on_the_web(work)


def test_every_answer_forbids_frames_scripts_and_guessing() -> None:
    async def work(web: Web) -> None:
        for path, token in (("/health", ""), ("/v1/me", ""), ("/v1/me", "ann"), ("/no", "ann")):
            headers = (await web("GET", path, token=token)).headers
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"

    on_the_web(work)


def test_events_are_told_as_they_happen_and_folded_when_too_many() -> None:
    async def work(web: Web) -> None:
        from nomospace.api.looking import EVENTS_S_MAX, LOOKS_S, Live

        live = Live(web.service.views)
        events = live.events(("tuple", "move"))
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.05)
        await web("POST", f"{AGENT}/spaces/jobs/out", {"fields": ["job", 17]})
        told = [await first]
        while {one.kind for one in told} != {"tuple", "move"}:
            told.append(await anext(events))
        (moved,) = [one for one in told if one.kind == "move"]
        assert moved.facts == {"agent": "ann@ward", "from": "", "to": "ward"}
        before = web.service.views.last_record
        rows = [["job", n] for n in range(500)]
        await web("POST", f"{AGENT}/spaces/jobs/out-many", {"rows": rows})
        while web.service.views.last_record < before + 500:
            await asyncio.sleep(0.01)
        folded = await anext(events)
        assert folded.kind == "folded"
        share = EVENTS_S_MAX // LOOKS_S
        rest = [await anext(events) for _ in range(share)]
        assert {one.kind for one in rest} == {"tuple"}
        since = web.service.views.last_record - told[-1].record
        assert folded.facts["count"] == since - share
        assert live.viewers == 1
        await events.aclose()  # type: ignore[attr-defined]
        assert live.viewers == 0
        wrong = await web("GET", "/v1/events?kinds=rulnig", token="ops")
        assert (wrong.status_code, wrong.json()["code"]) == (400, "api.no-such-kind")
        assert json.loads(json.dumps(rest[0].facts, default=str))["space"] == "jobs"

    on_the_web(work)


def test_a_seat_shares_no_inbox_with_a_program_of_the_same_agent() -> None:
    async def work(web: Web) -> None:
        law = load(OPEN_LAW)
        program = await web.server.host.agent("ann")
        member = await program.adopt(law)
        path = f"{AGENT}/communities/{law.hash}"
        assert (await web("GET", f"{path}/inbox")).json()["letters"] == []
        await member.send("hi(1)", to="ann@ward")
        assert len((await web("GET", f"{path}/inbox?wait=5")).json()["letters"]) == 1
        web.service.close()
        await member.send("hi(2)", to="ann@ward")
        inbox = member.inbox()
        letters = [await anext(inbox), await anext(inbox)]
        assert [one.message for one in letters] == [t.hi(1), t.hi(2)]

    on_the_web(work)


def test_the_seat_that_is_idle_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nomospace.api.service.SEATS_MAX", 2)

    async def work(web: Web) -> None:
        anyone = Principal("anyone", anyone=True)
        first, second = [web.service.seat(anyone, f"{name}@ward") for name in ("a", "b")]
        first.busy = 1
        assert web.service.seat(anyone, "a@ward") is first
        third = web.service.seat(anyone, "c@ward")
        assert web.service.seat(anyone, "a@ward") is first
        assert web.service.seat(anyone, "c@ward") is third
        third.busy = 1
        with pytest.raises(TooManySeats):
            web.service.seat(anyone, "b@ward")
        third.busy = 0
        again = web.service.seat(anyone, "b@ward")
        assert again is not second

    on_the_web(work)


def test_an_agent_sees_of_its_control_state_what_the_law_discloses() -> None:
    law = "law({}). disclose({}). initialCS([slot]). R1. sent(_, _, _) :- do(forward)."

    async def work(web: Web) -> None:
        for level in ("all", "rules"):
            await web("POST", f"{AGENT}/communities", {"text": law.format(level, level)})
        told = {one["name"]: one for one in (await web("GET", f"{AGENT}/communities")).json()}
        assert told["all"]["state"] == ["slot"]
        assert told["all"]["obligations"] == []
        assert (told["rules"]["state"], told["rules"]["obligations"]) == (None, None)
        told = (await web("GET", f"{AGENT}/communities", token="ops")).json()
        assert [one["state"] for one in told] == [["slot"], ["slot"]]
        other = await web("GET", "/v1/agents/bob@ward/communities")
        assert other.status_code == 403

    on_the_web(work)


def test_tuples_are_listed_by_a_typed_template_and_their_story_is_told() -> None:
    async def work(web: Web) -> None:
        for number in (1, 2):
            await web("POST", f"{AGENT}/spaces/jobs/out", {"fields": ["job", number]})
        found = await web("GET", "/v1/spaces/jobs/tuples?template=job, 2", token="ops")
        assert [one["fields"] for one in found.json()["tuples"]] == [["job", 2]]
        slip = await web("GET", "/v1/spaces/jobs/tuples?template=job, _:itn", token="ops")
        assert slip.status_code == 422
        assert "did you mean int?" in slip.json()["detail"]
        told = await web("GET", "/v1/story?about=ann@ward%232", token="ops")
        assert [(one["kind"], one["text"]) for one in told.json()["steps"]] == [
            ("written", "[job,2]")
        ]
        assert told.json()["lies"]["fields"] == ["job", 2]
        assert (await web("GET", "/v1/story?about=ann@ward%232")).status_code == 403
        assert (await web("GET", "/v1/story?about=ward/999", token="ops")).status_code == 404

    on_the_web(work)


def test_tuples_are_matched_by_meaning_with_reasons() -> None:
    async def work(web: Web) -> None:
        asked: dict[str, Any] = {
            "template": "(Car where price < 500)",
            "ontology": "classes: {Car: {properties: {price: number}}, Van: {parents: [Car]}}",
            "tuples": [
                {"id": "t1", "fields": [{"class": "Van", "id": "v", "properties": {"price": 400}}]},
                {"id": "t2", "fields": [{"class": "Van", "id": "w", "properties": {"price": 600}}]},
            ],
        }
        (found,) = (await web("POST", "/v1/match", asked)).json()["answers"]
        assert (found["kind"], found["tuples"]) == ("semantic", ["t1"])
        assert "Van" in found["why"]
        for slip, status, code in (
            ({"template": "(Carr)"}, 422, ""),
            ({"ontology": "classes: {Van: {parents: [Carr]}}"}, 422, ""),
            ({"ontology": "imports: [/etc/passwd]\nclasses: {Car: {}}"}, 422, ""),
            ({"tuples": [{"id": "t1"}]}, 400, "match.bad-line"),
        ):
            answer = await web("POST", "/v1/match", asked | slip)
            assert answer.status_code in (400, status), answer.text
            assert "root:" not in answer.text
            assert not code or answer.json()["code"] == code

    on_the_web(work)


def test_a_space_under_a_law_rules_on_what_is_asked_over_http() -> None:
    async def work(web: Web) -> None:
        text = (
            "law(quiet). R1. sent(_, out([ok(_)]), _) :- do(forward). "
            "R2. sent(_, _, _) :- tupleSpace@CS, do(forward). R3. arrived(_, _, _) :- do(deliver)."
        )
        adopted = await web("POST", f"{AGENT}/communities", {"text": text})
        law = adopted.json()["law"]
        other = await web("POST", f"{AGENT}/spaces/post", {"law": "nobody's"})
        assert (other.status_code, other.json()["code"]) == (404, "api.no-such-law")
        opened = await web("POST", f"{AGENT}/spaces/post", {"law": law})
        assert opened.status_code == 200, opened.text
        fine = await web("POST", f"{AGENT}/spaces/post/out", {"fields": [{"term": "ok(1)"}]})
        assert fine.json() == {"written": 1}
        refused = await web("POST", f"{AGENT}/spaces/post/out", {"fields": ["anything"]})
        assert (refused.status_code, refused.json()["code"]) == (403, "law.refused")

    on_the_web(work)


def test_a_space_with_an_ontology_matches_by_meaning_over_http() -> None:
    async def work(web: Web) -> None:
        cars = "classes: {Car: {}, Van: {parents: Car}}"
        broken = await web("POST", f"{AGENT}/spaces/lot", {"ontology": "classes: ["})
        assert broken.status_code == 400, broken.text
        await web("POST", f"{AGENT}/spaces/lot", {"ontology": cars})
        van = {"term": "object('Van', v1, [])"}
        written = await web("POST", f"{AGENT}/spaces/lot/out", {"fields": [van]})
        assert written.status_code == 200, written.text
        car = {"term": "formal(class('Car'))"}
        found = await web("POST", f"{AGENT}/spaces/lot/read", {"template": [car]})
        assert found.json()["tuple"] is not None, found.text

    on_the_web(work)


def test_operators_suspend_and_resume() -> None:
    async def work(web: Web) -> None:
        jobs = f"{AGENT}/spaces/jobs/out"
        await web("POST", f"{AGENT}/spaces/jobs", {})
        await web("POST", jobs, {"fields": ["job", 1]})
        name = "/v1/suspensions/ann@ward"
        assert (await web("PUT", name, {"why": "a test"})).status_code == 403
        told = await web("PUT", name, {"why": "a test"}, token="ops")
        assert told.json()["name"] == "ann@ward"
        listed = (await web("GET", "/v1/suspensions", token="ops")).json()
        assert [(one["name"], one["why"]) for one in listed] == [("ann@ward", "a test")]
        refused = await web("POST", jobs, {"fields": ["job", 2]})
        assert (refused.status_code, refused.json()["code"]) == (403, "host.suspended")
        assert (await web("DELETE", name, token="ops")).status_code == 204
        assert (await web("POST", jobs, {"fields": ["job", 2]})).json() == {"written": 1}
        unknown = await web("PUT", "/v1/suspensions/nosuch", {}, token="ops")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "node.not-suspendable")

    on_the_web(work)


def test_several_tuples_may_answer_together() -> None:
    async def work(web: Web) -> None:
        space = f"{AGENT}/spaces/sales"
        car, policy = {"class": "Car", "id": "c1"}, {"class": "Insurance", "id": "i1"}
        for fields in ([car, policy], ["loan", car, {"class": "Finance", "id": "f1"}]):
            await web("POST", f"{space}/out", {"fields": fields})
        template = [{"pattern": "_:Insurance"}, {"pattern": "_:Finance"}]
        asked = {"template": template, "correlate": "auto", "key": "Car", "max_set": 3}
        assert (await web("POST", f"{space}/read", {"template": template})).json()["tuple"] is None
        wrong = asked | {"key": "Insurance"}
        assert (await web("POST", f"{space}/read", wrong)).json()["tuple"] is None
        (found,) = (await web("POST", f"{space}/read-all", asked)).json()["tuples"]
        lent = (await web("POST", f"{space}/take", asked | {"lease": 30})).json()["tuple"]
        assert (lent["fields"], lent["deliveries"]) == (found["fields"], 1)
        assert (await web("POST", f"{space}/read-all", asked)).json()["tuples"] == []
        await web("POST", f"{space}/settle", {"lease": lent["lease"], "done": False})
        taken = (await web("POST", f"{space}/take", asked | {"wait": 5})).json()["tuple"]
        assert found["fields"] == taken["fields"]
        assert [one["id"] for one in taken["fields"]] == ["i1", "f1"]
        assert [one["id"] for one in taken["tuples"]] == ["ann@ward#1", "ann@ward#2"]
        assert taken["why"] == "ann@ward#1 and ann@ward#2 share Car c1"
        assert (await web("POST", f"{space}/take-all", asked)).json()["tuples"] == []
        answer = await web("POST", f"{space}/take", asked | {"max_set": 99})
        assert (answer.status_code, answer.json()["code"]) == (400, "question.bad")

    on_the_web(work)
