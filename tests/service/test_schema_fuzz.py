"""Requests made up from the OpenAPI document: every answer is one that the document allows, and none is 500."""

import collections
import json

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from arcbandit.service.openapi import document
from arcbandit.service.sqlite_store import add_token
from arcbandit.service.tokens import SCOPES, new_token
from tests.long import LONG
from tests.patience import PATIENCE
from tests.service.processes import Process, made_store

CASES = 1500 if LONG else 100


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_answer_is_one_that_the_document_allows(tmp_path):
    """Drawn from the document, and checked against it: status, media type and schema of every answer."""
    import schemathesis  # takes a while, and the other tests do without
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    path = made_store(tmp_path)
    token, record = new_token("fuzz", SCOPES, 0)
    add_token(path, record)
    server = Process(path, is_open=False)
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document())))
    operations = [found.ok() for found in schema.get_all_operations()]
    # Changes and new campaigns ask the planner's process, which few cases can wait for.
    ends = ("/changes", "/what-if", "/status")
    slow = [one for one in operations if one.path.endswith(ends) or (one.method, one.path) == ("post", "/v1/campaigns")]
    quick = [one for one in operations if one not in slow]
    seen = collections.Counter()

    @settings(
        max_examples=CASES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def fuzz(data):
        among = slow if data.draw(st.integers(0, 19)) == 0 else quick
        operation = data.draw(st.sampled_from(among))
        case = data.draw(operation.as_strategy())
        if "name" in (case.path_parameters or {}) and data.draw(st.booleans()):
            case.path_parameters["name"] = "films"
        response = case.call_and_validate(
            base_url=f"http://127.0.0.1:{server.port}",
            headers={"Authorization": f"Bearer {token}"},
            # Not all rules can be said in a schema: a floor must be of an arm that there is.
            excluded_checks=[positive_data_acceptance],
            timeout=PATIENCE,  # the planner's process may have kernels to compile, beside other tests that do
        )
        seen[operation.path, response.status_code] += 1
        assert response.status_code < 500, response.text

    try:
        fuzz()
        alive = httpx.get(f"http://127.0.0.1:{server.port}/readyz").json()
    finally:
        server.kill()
    print(f"{sum(seen.values())} cases, {len(seen)} kinds of answers")
    assert alive == {"ready": True, "reasons": [], "warnings": []}
    assert sum(seen.values()) >= CASES
    assert sum(count for (_, status), count in seen.items() if status == 200) > CASES / 20
