"""Code of programs as bundles: what `nomospace agent bundle` and `launch` read and make."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

import msgspec

from nomospace.cli.remote_options import Unusable
from nomospace.cli.trust.files import read as read_file
from nomospace.trust.bundles import (
    ARCHIVE_BYTES_MAX,
    ARCHIVE_FILES_MAX,
    PublisherKey,
    make_archive,
    make_bundle,
)
from nomospace.trust.keys import KEY_PEM_BYTES_MAX, SecretKey

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""When every file of an archive was made: the same code makes the same bytes."""


def read_state(text: str) -> bytes | None:
    """A state in JSON, as it travels; raises `Unusable`."""
    if not text:
        return None
    try:
        state = json.loads(text)
    except ValueError as error:
        raise Unusable(what="--state", why=f"is no JSON: {error}") from None
    if not isinstance(state, dict):
        raise Unusable(what="--state", why='is no object; write {"stops": ["icu"]}')
    return msgspec.msgpack.encode(state)


def make(code: Path, program: str, key: Path, publisher: str, module: str) -> bytes:
    """A signed bundle of a file, a folder or an archive; raises `Unusable`, `BadBundleArchive`."""
    secret = SecretKey.from_pem(read_file(key, KEY_PEM_BYTES_MAX))
    signer = PublisherKey(publisher, secret.loaded.private_bytes_raw())
    if code.is_dir():
        archive = _zipped(code)
    else:
        archive = read_file(code, ARCHIVE_BYTES_MAX)
        if code.suffix == ".py":
            try:
                return make_bundle(program, archive.decode(), signer)
            except UnicodeDecodeError:
                raise Unusable(what=str(code), why="is no text") from None
    return make_archive(program, module or _only_module(code, archive), archive, signer)


def _zipped(folder: Path) -> bytes:
    files = [one for one in sorted(folder.rglob("*.py")) if one.is_file()]
    if not files or len(files) > ARCHIVE_FILES_MAX:
        why = f"has {len(files):,} Python files; 1 to {ARCHIVE_FILES_MAX:,} make a bundle"
        raise Unusable(what=str(folder), why=why)
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for one in files:
            info = ZipInfo(str(one.relative_to(folder).as_posix()), _EPOCH)
            archive.writestr(info, read_file(one, ARCHIVE_BYTES_MAX))
    return made.getvalue()


def _only_module(code: Path, archive: bytes) -> str:
    """The one module or package at the top of an archive."""
    try:
        with ZipFile(BytesIO(archive)) as opened:
            names = [name.split("/", 1)[0] for name in opened.namelist() if name.endswith(".py")]
    except BadZipFile:
        raise Unusable(what=str(code), why="is neither Python nor a zip archive") from None
    found = sorted({name.removesuffix(".py") for name in names})
    if len(found) != 1:
        why = f"has {', '.join(found[:10]) or 'no module'}; say which with --module"
        raise Unusable(what=str(code), why=why)
    return found[0]
