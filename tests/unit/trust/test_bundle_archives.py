"""Bundles that are archives: there and back, and those that are refused."""

from io import BytesIO
from zipfile import ZipFile, ZipInfo

import pytest

from nomospace.trust.bundles import (
    ARCHIVE_FILES_MAX,
    BadBundleArchive,
    BadSignature,
    BundleAltered,
    NotABundle,
    PublisherKey,
    make_archive,
    open_bundle,
    read_bundle,
    sign_archive,
)

KEY = PublisherKey("acme", bytes(32))
TRUSTED = {"acme": KEY.public}


def _zip(*names: str | ZipInfo) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "pass")
    return made.getvalue()


def test_there_and_back() -> None:
    archive = _zip("couriers/__init__.py", "couriers/ways.py")
    bundle = make_archive("courier", "couriers", archive, KEY)
    found = read_bundle(bundle, trusted=TRUSTED, name="courier")
    assert (found.publisher, found.module, found.archive) == ("acme", "couriers", archive)
    with pytest.raises(NotABundle, match="a process of its own"):
        open_bundle(bundle, trusted=TRUSTED)
    with pytest.raises(BundleAltered):
        read_bundle(bundle.replace(b"ways.py", b"mays.py"), trusted=TRUSTED)
    with pytest.raises(BadSignature):
        read_bundle(bundle, trusted={"acme": PublisherKey("acme", b"1" * 32).public})
    other = bundle.replace(b"\xa8couriers", b"\xa8carriers", 1)  # the module is signed, too
    with pytest.raises(BadSignature):
        read_bundle(other, trusted=TRUSTED)


def _link() -> ZipInfo:
    info = ZipInfo("a/key")
    info.external_attr = 0o120777 << 16
    return info


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (b"PK no zip", "no zip archive"),
        (_zip("a.py", "/etc/passwd"), "'/etc/passwd' is a path outside"),
        (_zip("a.py", "b/../../c.py"), "is a path outside"),
        (_zip("a.py", "b\\..\\c.py"), "is a path outside"),
        (_zip("a.py", "c:evil.py"), "is a path outside"),
        (_zip("a.py", _link()), "'a/key' is a link"),
        (_zip("b.py"), "has no module 'a'"),
        (_zip(*[f"a{n}.py" for n in range(ARCHIVE_FILES_MAX + 1)]), "above the limit"),
    ],
)
def test_refused(archive: bytes, why: str) -> None:
    with pytest.raises(BadBundleArchive, match=why):
        make_archive("courier", "a", archive, KEY)
    signed = sign_archive("courier", "a", archive, KEY)
    if len(signed) < 1 << 18:
        with pytest.raises(BadBundleArchive, match=why):
            read_bundle(signed, trusted=TRUSTED)
