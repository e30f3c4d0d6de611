"""What is compiled before the tests are looked for: by all cores, not by the one that looks.

To compile a fresh checkout, and to rewrite the asserts of every test, is most of the work of
finding the tests the first time.
"""

from __future__ import annotations

import compileall
import os
import sys
from contextlib import suppress
from itertools import islice

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
    try_makedirs,
)


def compile_all(config: pytest.Config) -> None:
    """Compile every file that is not compiled, or has changed since, in a process for each core."""
    if sys.dont_write_bytecode:
        return
    count = os.cpu_count() or 1
    pids = []
    for number in range(count):
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                _compile_share(config, number, count)
            finally:
                os._exit(0)  # what is not compiled yet is compiled when it is read
    for pid in pids:
        os.waitpid(pid, 0)


def _compile_share(config: pytest.Config, number: int, count: int) -> None:
    for path in islice(sorted((config.rootpath / "src").rglob("*.py")), number, None, count):
        compileall.compile_file(path, quiet=2)
    for path in islice(sorted((config.rootpath / "tests").rglob("test_*.py")), number, None, count):
        cache = get_cache_dir(path)
        compiled = cache / (path.stem + PYC_TAIL)
        if _read_pyc(path, compiled) is None and try_makedirs(cache):
            with suppress(SyntaxError):  # which is told when the file is collected
                facts, code = _rewrite_test(path, config)
                _write_pyc(config.stash[assertstate_key], code, facts, compiled)
