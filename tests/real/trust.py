"""All that `nomospace trust` can issue, good and bad, for hosts that stand up to attacks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from nomospace.terms import Term
from nomospace.trust.authority import Authority, make_authority, new_serial
from nomospace.trust.certificates import read_claim
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY
from nomospace.trust.seals import Signer
from nomospace.trust.tokens import ID_BYTES, SECRET_BYTES, Tokens, make_token
from tests.trust_folder import TrustFolder

LONG_AGO = 60 * DAY
"""Before now; a certificate for `DAYS` from then on has run out."""
DAYS = 30
PLACES = tuple(f"127.0.0.{n}" for n in range(1, 8))
"""Where hosts of tests are."""


class Trust(TrustFolder):
    """A trust folder that also issues what a host should refuse."""

    def __init__(self, folder: Path, name: str = "admin") -> None:
        super().__init__(folder, name)
        self._tokens = Tokens()
        self._serials: dict[int, int] = {}

    @property
    def key(self) -> str:
        """The authority's key, as laws write it."""
        return self.authority.public.text

    def host(self, name: str, *, now: int | None = None, days: int = DAYS) -> Path:
        """A host, for any of `PLACES`."""
        key = SecretKey.generate()
        pem = self.authority.issue_host(
            name,
            key.public,
            addresses=(*PLACES, "localhost"),
            serial=new_serial(),
            now=self.now if now is None else now,
            days=days,
        )
        return self._put(self.folder / "hosts" / name, "host", pem, key)

    def member(self, name: str) -> None:
        """A host whose controllers are believed."""
        self.host(name)
        self.controller(name)

    def controller(self, name: str) -> None:
        """Let a host enforce laws."""
        key = SecretKey.generate()
        pem = self.authority.issue_controller(
            name, key.public, serial=new_serial(), now=self.now, days=DAYS
        )
        self._put(self.folder / "hosts" / name, "controller", pem, key)

    def signer(
        self, host: str, *, by: Authority | None = None, ago: int = 0
    ) -> tuple[Signer, bytes]:
        """What seals letters in a host's name, and its certificate."""
        key = SecretKey.generate()
        pem = (by or self.authority).issue_controller(
            host, key.public, serial=new_serial(), now=self.now - ago, days=DAYS
        )
        return Signer(key, pem), pem

    def other_authority(self) -> Authority:
        """An authority that nobody here goes by."""
        return make_authority(
            "admin", SecretKey.generate(), serial=new_serial(), now=self.now, days=DAYS
        )

    def visitor(self, agent: str, *, ago: int = 0, by: Authority | None = None) -> Path:
        """The folder of an agent's identity, like that of `nomospace trust issue agent`."""
        key = SecretKey.generate()
        pem = (by or self.authority).issue_agent(
            agent, key.public, serial=new_serial(), now=self.now - ago, days=DAYS
        )
        return self._put(self.folder / "agents" / f"{agent} {new_serial():x}", "agent", pem, key)

    def token(
        self,
        *agents: str,
        operator: bool = False,
        ago: int = 0,
        scopes: tuple[str, ...] = (),
    ) -> str:
        """A token, known to all hosts from now on."""
        scopes = scopes or (("agent", "operator") if operator else ("agent",))
        text, token = make_token(
            agents,
            scopes=scopes,
            identifier=os.urandom(ID_BYTES),
            secret=os.urandom(SECRET_BYTES),
            now=self.now - ago,
            days=DAYS,
        )
        self._tokens = self._tokens.with_token(token)
        self._write_tokens()
        return text

    def change(self, token: str, **changes: Any) -> None:
        """Write other things of a token that was issued."""
        (kept,) = [one for one in self._tokens if one.id == token.split(".")[1]]
        self._tokens = self._tokens.without(kept.id).with_token(replace(kept, **changes))
        self._write_tokens()

    def withdraw(self, token: str) -> None:
        """Take a token back."""
        self._tokens = self._tokens.without(token.split(".")[1])
        self._write_tokens()

    def _write_tokens(self) -> None:
        _write(self.folder / "tokens.toml", self._tokens.text().encode())

    def role(
        self, agent: str, *attributes: Term, ago: int = 0, by: Authority | None = None
    ) -> bytes:
        """A certificate about an agent, to be shown to a controller."""
        return (by or self.authority).issue_role(
            agent,
            SecretKey.generate().public,
            attributes,
            serial=new_serial(),
            now=self.now - ago,
            days=DAYS,
        )

    def take_back(self, pem: bytes) -> None:
        """Revoke a certificate."""
        self._serials[read_claim(pem).serial] = self.now
        data = self.authority.revoke(self._serials, number=len(self._serials), now=self.now)
        _write(self.folder / "revoked.crl.pem", data)

    def _put(self, place: Path, what: str, pem: bytes, key: SecretKey) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{what}.pem").write_bytes(pem)
        (place / f"{what}.key").write_bytes(key.pem())
        return place


def _write(file: Path, data: bytes) -> None:
    """Put a file there at once: hosts read it at any moment."""
    new = file.with_suffix(".new")
    new.write_bytes(data)
    new.replace(file)
