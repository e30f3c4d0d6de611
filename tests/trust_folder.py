"""Trust folders for tests: an authority and hosts, as `nomospace trust` would make them."""

from __future__ import annotations

import time
from pathlib import Path

from nomospace.trust.authority import Authority, make_authority, new_serial
from nomospace.trust.certificates import read_claim
from nomospace.trust.keys import SecretKey
from nomospace.trust.moments import DAY


class TrustFolder:
    """A folder with an authority; `host` issues, `revoke` takes back."""

    def __init__(self, folder: Path, name: str = "admin") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.now = time.time_ns() // 1000
        self.authority: Authority = make_authority(
            name, SecretKey.generate(), serial=new_serial(), now=self.now - 100 * DAY, days=3650
        )
        (folder / "authority.pem").write_bytes(self.authority.pem)
        self._revoked: dict[int, int] = {}

    def host(self, name: str, *, now: int | None = None, days: int = 30) -> Path:
        """Issue for a host; the folder of its files."""
        return self._write(name, name, self.now if now is None else now, days)

    def impostor(self, name: str, certified: str) -> Path:
        """Files under one name with a certificate about another."""
        return self._write(name, certified, self.now, 30)

    def _write(self, name: str, certified: str, now: int, days: int) -> Path:
        key = SecretKey.generate()
        place = self.folder / "hosts" / name
        place.mkdir(parents=True, exist_ok=True)
        pem = self.authority.issue_host(
            certified,
            key.public,
            addresses=("127.0.0.1", "localhost"),
            serial=new_serial(),
            now=now,
            days=days,
        )
        (place / "host.pem").write_bytes(pem)
        (place / "host.key").write_bytes(key.pem())
        return place

    def agent(self, agent: str) -> tuple[Path, Path]:
        """Issue for an agent: its certificate and key."""
        key = SecretKey.generate()
        place = self.folder / "agents" / agent
        place.mkdir(parents=True, exist_ok=True)
        pem = self.authority.issue_agent(
            agent, key.public, serial=new_serial(), now=self.now, days=30
        )
        (place / "agent.pem").write_bytes(pem)
        (place / "agent.key").write_bytes(key.pem())
        return place / "agent.pem", place / "agent.key"

    def revoke(self, name: str) -> None:
        """Take the certificate of a host back."""
        claim = read_claim((self.folder / "hosts" / name / "host.pem").read_bytes())
        self._revoked[claim.serial] = self.now
        data = self.authority.revoke(self._revoked, number=len(self._revoked), now=self.now)
        (self.folder / "revoked.crl.pem").write_bytes(data)
