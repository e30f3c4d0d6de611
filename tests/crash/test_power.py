"""Power cuts, in short; two thousand states are for `python -m tests.crash.power`."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.power import cut_power, record_files, record_host

STATES = 40


@pytest.mark.slow
def test_what_was_acknowledged_outlives_a_power_cut_and_care_that_is_left_out_is_found(
    tmp_path: Path,
) -> None:
    with ThreadPoolExecutor(3) as pool:  # they wait for their processes
        careful = [
            pool.submit(record_host, tmp_path / "host", 20, "", 1),
            pool.submit(record_files, tmp_path / "files"),
        ]
        careless = pool.submit(record_host, tmp_path / "off", 8, "off", 0)
    outcome = cut_power([one.result() for one in careful], STATES, seed=1)
    assert not outcome.violations, outcome.told()
    assert outcome.acknowledged > 1_000
    assert cut_power([careless.result()], 10, seed=1).violations, "synchronous=OFF was not found"
