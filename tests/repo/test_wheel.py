"""The wheels build, install and run, without a network: the runtime alone, then the laboratory."""

import ensurepip
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.repo.rooms import ROOT


def _run(*command: str | Path, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == expect, (
        f"{command} gave {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done


def _built(project: str, folder: Path) -> Path:
    # --no-isolation takes hatchling from the lock; nothing is fetched.
    before = {*folder.glob("*.whl")}
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, project)
    _run(*build, cwd=ROOT)
    (wheel,) = {*folder.glob("*.whl")} - before
    return wheel


def _install(wheel: Path, folder: Path) -> None:
    # The pip that Python brings, run from its wheel: to install it would take longer than all that
    # it does here. And only those of our modules are compiled that are imported.
    bundled = Path(ensurepip.__file__).with_name("_bundled")
    (pip,) = Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or bundled).glob("pip-*.whl")
    python = folder / "venv" / "bin" / "python"
    words = ("install", "--no-index", "--no-deps", "--no-compile", wheel)
    _run(python, pip / "pip", *words, cwd=folder)


@pytest.mark.slow
def test_the_wheel_installs_and_runs(tmp_path: Path) -> None:
    wheel = _built(".", tmp_path)
    _run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    _install(wheel, tmp_path)

    # The dependencies come from this environment. A .pth file inside a folder that was itself
    # added by one is not read, so the source tree stays out of sight.
    site = tmp_path / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (site / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert (site / "nomospace" / "py.typed").is_file()
    assert (site / "nomospace" / "laws" / "ap.law").is_file()

    nomospace = tmp_path / "venv" / "bin" / "nomospace"
    assert _run(nomospace, "--version", cwd=tmp_path).stdout.startswith("nomospace ")
    _run(nomospace, "doctor", cwd=tmp_path)
    refused = _run(nomospace, "check", cwd=tmp_path, expect=2)
    assert f"nomospace is installed at {site}" in refused.stderr

    assert not (site / "nomospace_lab").exists()
    lacking = (
        "needs nomospace_lab, which is not installed; bring it with: pip install 'nomospace[lab]'"
    )
    assert lacking in _run(nomospace, "sim", "--seeds", "1", cwd=tmp_path, expect=2).stderr
    laboratory = _built("src/nomospace_lab", tmp_path)
    _install(laboratory, tmp_path)
    assert (site / "nomospace_lab" / "py.typed").is_file()
    assert not (site / "nomospace_lab" / "pyproject.toml").exists()
    assert "no world failed" in _run(nomospace, "sim", "--seeds", "1", cwd=tmp_path).stdout
