"""The source tree that a clone runs from."""

from pathlib import Path

from nomospace.errors import CallerError


class NoCheckout(CallerError):
    """The command needs the source tree, and this is an installed package."""

    code = "cli.no-checkout"
    words = (
        "this works in a source checkout only, and nomospace is installed at {package};"
        " clone the repository and run ./nomospace there"
    )
    package: str


def no_checkout() -> NoCheckout:
    """The error of a package that was installed, and is no clone."""
    return NoCheckout(package=str(Path(__file__).resolve().parents[1]))


def checkout() -> Path:
    """The root of the source tree this runs from.

    >>> (checkout() / "requirements.lock").is_file()
    True
    """
    root = Path(__file__).resolve().parents[3]
    if not ((root / "requirements.lock").is_file() and (root / "nomospace").is_file()):
        raise no_checkout()
    return root
