"""What the tests get of the system, and what a bare machine is told of this one."""

from pathlib import Path

import pytest

from tests import parts
from tests.bare import run as bare


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], True),
        (["-k", "law"], True),
        (["tests"], True),
        (["tests/docs/test_readme.py::test_x"], True),
        (["tests/unit/law", "-x"], False),
    ],
)
def test_only_those_who_run_a_browser_get_one(arguments: list[str], wanted: bool) -> None:
    assert parts.wanted(arguments) is wanted


def test_who_may_not_get_a_part_is_told_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(parts, "missing", lambda: ["chromium", "libatomic1"])
    monkeypatch.setattr(parts, "_do", done.append)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    parts.main([])
    assert done == []
    told = capsys.readouterr().err
    assert "sudo apt-get install -y --no-install-recommends chromium libatomic1" in told
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    parts.main([])
    assert done == [f"apt-get update -q && {parts.install(['chromium', 'libatomic1'])}"]


def test_settings_name_files_where_the_bare_machine_has_them(tmp_path: Path) -> None:
    index, bundle = tmp_path / "index", tmp_path / "all.crt"
    index.mkdir()
    bundle.touch()
    settings = f"cert = {bundle}\nextra-index-url = file://{index} https://index.example{index}\n"
    settings += f"find-links = {tmp_path / 'none'}\n"
    shown = bare.named(settings)
    assert shown == [bundle, index]
    assert bare.there(settings, shown) == settings.replace(
        f"cert = {bundle}", f"cert = {bare.SHOWN}{bundle}"
    ).replace(f"file://{index}", f"file://{bare.SHOWN}{index}")
    given = (
        "PIP_CERT",
        "SSL_CERT_FILE",
        "https_proxy",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
    )
    assert all(bare.PASSED.match(name) for name in given)
    assert not any(bare.PASSED.match(name) for name in ("PATH", "HOME", "TOKEN", "PYTHONPATH"))
