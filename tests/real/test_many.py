"""Many hosts that join one address at once: a share of `python -m tests.real.many`."""

from pathlib import Path

from tests.real.many import meet

HOSTS = 6


def test_hosts_that_join_one_address_at_once_become_one_group(tmp_path: Path) -> None:
    assert meet(HOSTS, tmp_path).hosts == HOSTS
