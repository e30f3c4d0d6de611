"""The table for those who run hosts names tests that there are, and none is left out."""

import re
from pathlib import Path

from tests.repo.rooms import ROOT

PAGE = (ROOT / "docs" / "hosts" / "attacks.md").read_text("utf-8")
HERE = Path(__file__).parent
FILES = (
    "test_attacks.py",
    "test_doors.py",
    "test_insiders.py",
    "test_renewal.py",
    "test_searches.py",
    "test_suspending.py",
    "test_tenants.py",
    "test_web_doors.py",
    "test_workers.py",
)


def _tests(*files: str) -> set[str]:
    texts = [(HERE / file).read_text("utf-8") for file in files]
    return {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


NO_ATTACKS = {
    *_tests("test_workers.py") - {"test_first_bytes_that_nest_cost_a_worker_nothing"},
    "test_all_of_it_is_in_the_journal",
    "test_certificates_and_the_authoritys_key_are_replaced_while_clients_come_and_go",
    "test_certified_hosts_believe_each_other",
}


def test_the_page_and_the_tests_are_the_same_attacks() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    attacks = _tests(*FILES)
    assert named == attacks - NO_ATTACKS


def test_the_page_names_codes_that_there_are() -> None:
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    codes = re.findall(r"`((?:node|client|wire|space|law|store|services|limits)\.[a-z-]+)`", PAGE)
    assert codes
    assert [code for code in codes if f'"{code}"' not in source] == []
