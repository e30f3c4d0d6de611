"""Who may be believed: pure functions over bytes.

Keys come in and signatures go out as plain bytes; where they are kept is others' business.
"""

from nomospace.trust.bundles import (
    BUNDLE_BYTES_MAX,
    BadKey,
    BadSignature,
    BundleAltered,
    BundleTooLarge,
    NotABundle,
    PublisherKey,
    UnknownPublisher,
    WrongName,
    make_bundle,
    open_bundle,
)

__all__ = [
    "BUNDLE_BYTES_MAX",
    "BadKey",
    "BadSignature",
    "BundleAltered",
    "BundleTooLarge",
    "NotABundle",
    "PublisherKey",
    "UnknownPublisher",
    "WrongName",
    "make_bundle",
    "open_bundle",
]
