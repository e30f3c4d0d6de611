"""The keys that a law names: whom it lets its members be believed by."""

from __future__ import annotations

from nomospace.errors import CallerError
from nomospace.law import CompiledLaw
from nomospace.trust.keys import NotAPublicKey, PublicKey


class PlaceholderKey(CallerError):
    """A law names a key that is none; such laws are for trials and simulated worlds."""

    code = "node.placeholder-key"
    words = (
        "law {law} has {clause} with {key!r}, which is no key, so nobody could "
        "be believed under it; put the ed25519:… key there that `nomospace trust show` prints"
    )
    law: str
    clause: str
    key: str


def check_keys(law: CompiledLaw) -> None:
    """Raise `PlaceholderKey` for a law that names a key which is none."""
    tree = law.tree
    named = [(f"authority({one.name}, …)", one.key) for one in tree.authorities]
    if tree.controller_authority is not None:
        named.append(("cAuthority(…)", tree.controller_authority))
    for clause, key in named:
        try:
            PublicKey.read(key)
        except NotAPublicKey:
            raise PlaceholderKey(law=law.name, clause=clause, key=key[:60]) from None
