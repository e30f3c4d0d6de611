"""A host's own token is found by its address, as long as that host lives, and by its user alone."""

from pathlib import Path

import pytest

from nomospace.client import own_tokens
from nomospace.client.own_tokens import OwnToken, TokenNotKept, find, link_key

AT = ("127.0.0.1", 7420)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_token_is_found_by_its_address_until_the_host_ends() -> None:
    own = OwnToken("s3cret")
    file = own.keep(*AT)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (find(*AT), find("127.0.0.1", 7421), find("::1", 7420)) == ("s3cret", "", "")
    own.close()
    assert find(*AT) == ""
    assert not file.exists()


def test_what_a_killed_host_has_left_counts_for_nothing() -> None:
    file = OwnToken("s3cret").keep(*AT)
    left = file.read_bytes()
    file.unlink()  # the lock is on the file, not on its name
    file.write_bytes(left)
    assert find(*AT) == ""


def test_who_comes_after_is_not_hindered_by_who_went() -> None:
    first, second = OwnToken("first"), OwnToken("second")
    first.keep(*AT)
    second.keep(*AT)
    first.close()
    assert find(*AT) == "second"
    second.close()


def test_files_of_killed_hosts_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_tokens, "FILES_MAX", 10)
    own = OwnToken("s3cret")
    kept = own.keep(*AT)
    for number in range(20):
        (kept.parent / f"127.0.0.1:{number}").write_text("left")
    own.keep("127.0.0.1", 30)
    assert len(list(kept.parent.iterdir())) < 20
    assert find(*AT) == "s3cret"  # who lives stays
    own.close()


def test_hosts_of_a_user_share_a_key_that_is_made_once(state: Path) -> None:
    key = link_key()
    assert (len(key), link_key()) == (32, key)
    file = state / "nomospace" / "links.key"
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (key, 0o600)


def test_a_user_without_a_folder_is_told(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(state / "file"))
    with pytest.raises(TokenNotKept, match="XDG_STATE_HOME"):
        OwnToken("s3cret").keep(*AT)
    assert find(*AT) == ""
    assert link_key() == link_key()  # of this process, at least
