"""What is compiled before the tests, so that each file of a fresh checkout is compiled once.

Processes that run tests side by side read the same files in the same order: each would compile all
of them, and rewrite the asserts of every test, which is most of the work of finding the tests. So
each takes a share beforehand. Nobody waits for another: what is not there yet is compiled again.
"""

from __future__ import annotations

import compileall
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


def compile_share(config: pytest.Config, number: int, count: int) -> None:
    """Compile every file whose turn it is that is not compiled, or has changed since."""
    if sys.dont_write_bytecode:
        return
    for path in islice(sorted((config.rootpath / "src").rglob("*.py")), number, None, count):
        compileall.compile_file(path, quiet=2)
    for path in islice(sorted((config.rootpath / "tests").rglob("test_*.py")), number, None, count):
        cache = get_cache_dir(path)
        compiled = cache / (path.stem + PYC_TAIL)
        if _read_pyc(path, compiled) is None and try_makedirs(cache):
            with suppress(SyntaxError):  # which is told when the file is collected
                facts, code = _rewrite_test(path, config)
                _write_pyc(config.stash[assertstate_key], code, facts, compiled)
