"""`nomospace bench calls`: what it counts."""

import threading
from pathlib import Path

import nomospace
from nomospace.terms import formals
from nomospace_lab.bench.suites.calls import CallCount


def test_calls_of_a_folder_are_counted_in_all_threads() -> None:
    with CallCount(Path(nomospace.__file__).parent) as count:
        formals.is_formal("any")
        thread = threading.Thread(target=formals.is_formal, args=("any",))
        thread.start()
        thread.join()
        Path("elsewhere").with_suffix("")
    assert count.calls == {formals.is_formal.__code__: 2}
    formals.is_formal("any")
    assert count.calls.total() == 2
    assert list(count.most(2)) == ["   1.00  terms/formals.py is_formal"]
