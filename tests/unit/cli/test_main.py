"""The command line's frame: help, unknown commands, errors told in words, exit codes."""

import subprocess
import sys
import types

import pytest
import typer

from nomospace import cli
from nomospace.errors import Bug, CallerError, LawError, Unavailable


def install(monkeypatch: pytest.MonkeyPatch, action: object) -> None:
    """Put a command `probe` into the table that calls `action`."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def probe() -> None:
        assert callable(action)
        action()

    module = types.ModuleType("nomospace.cli.probe")
    module.__spec__ = types.SimpleNamespace(name="nomospace.cli.probe")  # type: ignore[assignment]
    module.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nomospace.cli.probe", module)
    monkeypatch.setitem(cli.COMMANDS, "probe", cli.Command("nomospace.cli.probe", "app", "Probe."))


def raising(error: BaseException) -> object:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CallerError(), cli.BAD_INPUT),
        (LawError(), cli.BAD_INPUT),
        (Unavailable(), cli.SAID_NO),
        (typer.Exit(1), cli.SAID_NO),
        (KeyboardInterrupt(), cli.INTERRUPTED),
    ],
)
def test_an_answer_comes_in_words_with_its_code(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(monkeypatch, raising(error))
    assert cli.main(["probe"]) == code
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    if isinstance(error, CallerError | LawError | Unavailable):
        assert told.err == f"{error}\n"


@pytest.mark.parametrize("error", [Bug(story=("it broke",)), RuntimeError("it broke")])
def test_a_bug_keeps_its_traceback_and_its_own_code(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, raising(error))
    assert cli.main(["probe"]) == cli.BUG
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert "it broke" in told


def test_a_command_that_is_not_built_yet_leaves_the_rest_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli.COMMANDS, "later", cli.Command("nomospace.cli.later", "app", "Later."))
    assert cli.main(["later"]) == cli.BAD_INPUT
    assert "later is not part of version" in capsys.readouterr().err
    assert cli.main(["--help"]) == cli.OK
    shown = capsys.readouterr().out
    assert "Later." not in shown
    assert "doctor" in shown


def test_an_unknown_command_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctr"]) == cli.BAD_INPUT
    assert capsys.readouterr().err == "there is no command 'doctr'; did you mean `doctor`?\n"


def test_a_wrong_option_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--nonsense"]) == cli.BAD_INPUT
    assert "--nonsense" in capsys.readouterr().err


def test_help_and_version_import_neither_typer_nor_rich() -> None:
    program = (
        "import sys; from nomospace.cli import main; main(['--version']); main(['--help']);"
        "print(sorted({'typer', 'rich', 'msgspec'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.endswith("\n[]\n")


@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_reader_that_goes_away_ends_it_quietly(unbuffered: bool) -> None:
    flags = ["-u"] if unbuffered else []
    # The reader ends at once; the pause makes sure that it is gone before the first word.
    program = "import sys, time; from nomospace.cli import main; time.sleep(0.3);"
    program += "sys.exit(main(['doctor']))"
    script = '"$@" | true; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, "-", sys.executable, *flags, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (f"{cli.READER_GONE}\n", "")


@pytest.mark.parametrize(("to", "code", "said"), [(">/dev/full", 1, "make room"), (">&-", 0, "")])
def test_output_that_cannot_be_written_is_told_in_words(to: str, code: int, said: str) -> None:
    program = "import sys; from nomospace.cli import main; sys.exit(main(['--version']))"
    ran = ["bash", "-c", f'"$@" {to}', "-", sys.executable, "-c", program]
    done = subprocess.run(ran, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
