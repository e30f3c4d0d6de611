"""The reference pages say what the code says."""

import pytest

from tests.docs.reference import FOLDER, PAGES


@pytest.mark.parametrize("file", PAGES)
def test_the_reference_is_that_of_the_code(file: str) -> None:
    written = (FOLDER / file).read_text("utf-8")
    assert PAGES[file]() == written, "python -m tests.docs.reference rewrites it"
