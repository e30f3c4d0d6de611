"""The OpenAPI document holds: whatever is sent, the answer is one that it names, and no 500."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.unit.api.running import Running, host

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 4
LAW = "law(open). R1. sent(_, _, _) :- do(forward). R2. arrived(_, _, _) :- do(deliver)."
ENDLESS = "/v1/events"
"""An answer to this has no end; `test_http` and `test_running` look at it."""


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with host() as found:
        yield found


def test_whatever_is_sent_the_answer_is_in_the_document(running: Running) -> None:
    document = httpx.get(f"{running.url}/v1/openapi.json", timeout=60).json()
    adopted = httpx.post(
        f"{running.url}/v1/agents/ann@ward/communities",
        json={"text": LAW},
        headers=running.headers,
        timeout=60,
    )
    real = {"agent": "ann@ward", "law": adopted.json()["law"]}
    schema = schemathesis.openapi.from_dict(document)
    tried: list[str] = []
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if operation.path != ENDLESS:
            _try(operation, running, real)
            tried.append(f"{operation.method} {operation.path}")
    named = [(m, p) for p, methods in document["paths"].items() for m in methods]
    assert len(tried) == len(named) - 1 > 25
    assert httpx.get(f"{running.url}/health", timeout=60).json()["well"]


def _try(operation: Any, running: Running, real: dict[str, str]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy())
    def check(case: Any) -> None:
        # Made-up agents and laws would all end at the first check.
        case.path_parameters |= {k: v for k, v in real.items() if k in case.path_parameters}
        if isinstance(case.body, dict) and "wait" in case.body:
            case.body["wait"] = 0
        if case.query and "wait" in case.query:
            case.query["wait"] = 0
        case.call_and_validate(
            base_url=running.url, headers=running.headers, checks=CHECKS, timeout=60
        )

    check()
