"""`nomospace doctor` finds what is wrong and names the command that mends it."""

import json
from importlib import metadata

import pytest

from nomospace.cli import main


def test_a_sound_machine_is_called_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert {f["what"]: f["state"] for f in report["findings"]}["packages"] == "ok"


def test_a_package_of_another_version_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda n: "0.0.1" if n == "msgspec" else real(n))
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "msgspec is 0.0.1, not ==" in told
    assert "mend: rm -r .venv && ./nomospace doctor" in told
