"""A plugin of pytest: tests run in processes that are forks of the one that has found them.

To find all tests is ten seconds of a core, and each process that found them for itself would spend
them again. So one process imports and collects, and forks: `--processes N`. Each fork asks for the
next tests that have to stay together (those of a file, or what `pytest_kept_together` says), in the
order in which they were collected, and its reports are heard here as if the tests had run here.

A fork that dies fails the test it was at; another one goes on with those after it.

A run that is told to end (SIGINT, SIGTERM, SIGHUP) interrupts its forks, and each takes down what
its tests have begun, servers among it; who takes longer than `END_S` for that is killed.
"""

import atexit
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, Final, Never, cast

import pytest
from _pytest.capture import FDCapture

END_S: Final = 30.0
"""How long forks of a run that is told to end may take."""
_MORE: Final = "more"
_START: Final = "start"
_REPORT: Final = "report"
_FINISH: Final = "finish"
_ENDED: Final = "ended"


class KeptTogether:
    """What plugins may say."""

    @pytest.hookspec(firstresult=True)
    def pytest_kept_together(self, nodeid: str) -> str:
        """What a test belongs to: tests of one name run in one fork, in a row."""
        raise NotImplementedError


@pytest.hookimpl(trylast=True)
def pytest_kept_together(nodeid: str) -> str:
    """Its file."""
    return nodeid.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--processes`."""
    parser.addoption("--processes", type=int, default=1, help="How many forks run the tests.")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let others say what is kept together."""
    pluginmanager.add_hookspecs(KeptTogether)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take the loop over, unless a debugger wants to see it."""
    if config.getoption("processes") > 1 and not config.getoption("usepdb"):
        config.pluginmanager.register(Forks(config))
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.showfspath = False  # tests of many files take turns


class Fork:
    """One of the processes: how to reach it, and which of its tests have not ended."""

    def __init__(self, pid: int, pipe: Connection) -> None:
        self.pid = pid
        self.pipe = pipe
        self.left: Sequence[int] = ()

    def end(self) -> int:
        """Wait until it has ended; its exit code, or minus the signal that ended it."""
        self.pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Forks:
    """Hands tests out, and hears what became of them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._forks: dict[Connection, Fork] = {}
        self._left: deque[Sequence[int]] = deque()
        """Tests that nobody has yet, by their place among all."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Have all tests run; None where there is nothing to run."""
        option = self._config.option
        if option.collectonly or (session.testsfailed and not option.continue_on_collection_errors):
            return None
        units: dict[str, list[int]] = {}
        for place, item in enumerate(session.items):
            name = self._config.hook.pytest_kept_together(nodeid=item.nodeid)
            units.setdefault(name, []).append(place)
        self._left.extend(units.values())
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        # A run that is told to end takes its forks with it, as one that is interrupted does.
        _interrupted_by(signal.SIGTERM, signal.SIGHUP)
        try:
            for _ in range(min(option.processes, len(self._left))):
                self._fork(session)
            while self._forks:
                for pipe in wait(list(self._forks)):
                    assert isinstance(pipe, Connection)
                    self._hear(session, self._forks[pipe])
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            self._interrupt()
        return True

    def _interrupt(self) -> None:
        """End the forks that there are; what they still say is of no interest."""
        left = list(self._forks.values())
        for fork in left:
            os.kill(fork.pid, signal.SIGINT)
            fork.pipe.close()
        until = time.monotonic() + END_S
        while left := [fork for fork in left if not os.waitpid(fork.pid, os.WNOHANG)[0]]:
            if time.monotonic() > until:
                for fork in left:
                    os.kill(fork.pid, signal.SIGKILL)
                    os.waitpid(fork.pid, 0)
                break
            time.sleep(0.01)

    def _fork(self, session: pytest.Session) -> None:
        here, there = Pipe()
        with warnings.catch_warnings():
            # Libraries that were imported have threads; each of them sees to its own at a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            for pipe in (here, *self._forks):
                pipe.close()
            _live(session, there)
        there.close()
        self._forks[here] = Fork(pid, here)

    def _hear(self, session: pytest.Session, fork: Fork) -> None:
        hook = self._config.hook
        try:
            what, told = fork.pipe.recv()
        except (EOFError, OSError):
            what, told = _ENDED, None
        if what == _ENDED:
            self._ended(session, fork)
        elif what == _REPORT:
            report = hook.pytest_report_from_serializable(config=self._config, data=told)
            hook.pytest_runtest_logreport(report=report)
        elif what == _START:
            hook.pytest_runtest_logstart(nodeid=told[0], location=told[1])
        elif what == _FINISH:
            fork.left = fork.left[1:]
            hook.pytest_runtest_logfinish(nodeid=told[0], location=told[1])
        else:
            fork.left = self._left.popleft() if self._left else ()
            fork.pipe.send(fork.left)

    def _ended(self, session: pytest.Session, fork: Fork) -> None:
        """Nobody is to think that a test has passed because its process is no more."""
        del self._forks[fork.pipe]
        code = fork.end()
        if code == 0:
            return
        place, *after = fork.left or [-1]  # at the end of its life it was at no test
        lost = session.items[place]
        report = pytest.TestReport(
            nodeid=lost.nodeid,
            location=lost.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of this test ended with {code}",
            when="call",
        )
        self._config.hook.pytest_runtest_logreport(report=report)
        if after:
            self._left.appendleft(after)
        if self._left:
            self._fork(session)


def _interrupted_by(*signals: signal.Signals) -> None:
    """Be interrupted by these as by Ctrl-C; by those that are not ignored (`nohup`)."""
    for one in signals:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler)


# -- in a fork -------------------------------------------------------------------------------------


class Teller:
    """Tells the process that has forked what it would be told by plugins otherwise."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config = config
        self._pipe = pipe

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """A test begins."""
        self._pipe.send((_START, (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of it is done."""
        to_data: Callable[..., Any] = self._config.hook.pytest_report_to_serializable
        self._pipe.send((_REPORT, to_data(config=self._config, report=report)))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """All of it is."""
        self._pipe.send((_FINISH, (nodeid, location)))


def _live(session: pytest.Session, pipe: Connection) -> Never:
    """The whole life of a fork. It is gone at once: to take all tests apart would take seconds."""
    code = 1
    try:
        _settle(session.config, pipe)
        _run(session, pipe)
        code = 0
    except (KeyboardInterrupt, OSError):  # the latter: nobody hears it any more
        code = 130
        signal.signal(signal.SIGINT, lambda *_: None)  # a terminal and the run itself may both say
        session._setupstate.teardown_exact(None)
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _settle(config: pytest.Config, pipe: Connection) -> None:
    """Share with nobody what the process that has forked goes on using."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Even in a job of the background, which begins with this one ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.modules["__main__"] = ModuleType("__main__")  # processes that are started would import it
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Teller(config, pipe))
    _capture_apart(plugins.get_plugin("capturemanager"))
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"fork-{os.getpid()}"
    factory._basetemp.mkdir(mode=0o700)


def _capture_apart(manager: Any) -> None:
    """Catch what is printed in files of one's own, below objects that many a module has kept."""
    manager.suspend_global_capture()
    capturing = manager._global_capturing
    for one in (capturing.out, capturing.err):
        if isinstance(one, FDCapture):
            with TemporaryFile() as own:
                os.dup2(own.fileno(), one.tmpfile.fileno(), inheritable=False)


def _run(session: pytest.Session, pipe: Connection) -> None:
    """Run what there is to run, and then take down what lasts to the end."""
    last: pytest.Item | None = None
    while True:
        pipe.send((_MORE, None))
        items = [session.items[place] for place in pipe.recv()]
        if not items:
            break
        # After the last of them comes a test of another file: only what lasts to the end is kept.
        nexts = [*items[1:], cast("pytest.Item", session)]
        for last, after in zip(items, nexts, strict=True):
            last.ihook.pytest_runtest_protocol(item=last, nextitem=after)
    if last is not None:
        _take_down(last)


def _take_down(last: pytest.Item) -> None:
    """End what lasts for a whole run; if that fails, the last test has failed."""
    state = last.session._setupstate
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(None), when="teardown")
    report = last.ihook.pytest_runtest_makereport(item=last, call=call)
    if report.failed:
        last.ihook.pytest_runtest_logreport(report=report)
