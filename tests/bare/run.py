"""A bare Debian 12, and on it the two commands of the README: as root, then as an ordinary user.

    sudo python3 tests/bare/run.py                      # all tests, twice: an hour or more
    sudo python3 tests/bare/run.py tests/browser        # these only
    sudo python3 tests/bare/run.py --again --as user    # with the system and clones of the last run

The system is what `debootstrap` makes with `minbase` and `python3`, and nothing else, in a folder.
The clone lies below a folder of mode 700, in a home that is new. `./nomospace up --for 5` and
`./nomospace test` have to exit 0 there, as root, and then as an ordinary user, who finds the system
packages that root got. They run in namespaces of their own, so nothing of them stays.

The registries are those of this machine: its settings for names, apt, pip and certificates are
looked for and taken along, with every file and folder that they name. Python's own library is
enough to run this.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = Path("/var/tmp/nomospace-bare")
RELEASE: Final = "bookworm"
USER: Final = "tester"
UP: Final = "./nomospace up --for 5"
COPIED: Final = ("etc/resolv.conf", "etc/hosts")
"""Settings of this machine that are copied to where they are."""
SHOWN: Final = "/machine"
"""Where the files and folders that other settings name are seen."""
PASSED: Final = re.compile(
    r"(PIP_.*|.*_CERTS?|.*_CERT_(FILE|DIR)|.*_CA_.*|.*_CAINFO|.*_proxy)$", re.IGNORECASE
)
"""Variables that say how registries are reached."""
NAMED: Final = re.compile(r"(?:(?<=file://)|(?<![^\s=:,]))/[^/\s'\",;:][^\s'\",;:]*")
"""A file or a folder that a setting names."""


def main() -> int:
    """Make the system, run what is asked for, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the system is made")
    parser.add_argument(
        "--again", action="store_true", help="go on with the system and the clones of the last run"
    )
    parser.add_argument("--as", dest="who", choices=("both", "root", "user"), default="both")
    parser.add_argument("--run", help="a command to run instead of the two")
    parser.add_argument("arguments", nargs="*", help="for ./nomospace test")
    asked, more = parser.parse_known_args()
    if os.geteuid() != 0:
        print(f"this makes a system to change into: sudo python3 {' '.join(sys.argv)}")
        return 1
    base, system = asked.folder / "base", asked.folder / "system"
    if not (asked.again and system.exists()):
        bootstrap(base)
        shutil.rmtree(system, ignore_errors=True)
        tell(["cp", "-a", "--reflink=auto", str(base), str(system)])
        for name in COPIED:
            shutil.copyfile(f"/{name}", system / name)
    test = shlex.join(["./nomospace", "test", *asked.arguments, *more])
    commands = [asked.run] if asked.run else [UP, test]
    codes = {}
    for who in (
        ("root", USER) if asked.who == "both" else (USER if asked.who == "user" else "root",)
    ):
        clone = cloned(system, who, again=asked.again)
        for command in commands:
            began = time.monotonic()
            code = run(system, who, clone, command)
            codes[f"{who}: {command}"] = f"exit code {code}, {time.monotonic() - began:.0f} s"
            if code:
                codes[f"{who}: {command}"] += " FAILED"
    print("\n".join(f"{what}: {how}" for what, how in codes.items()))
    return int(any("FAILED" in how for how in codes.values()))


def bootstrap(base: Path) -> None:
    """The system with Python alone; made once, and put in place when it is whole."""
    if base.exists():
        return
    if shutil.which("debootstrap") is None:
        tell(["apt-get", "update", "-q"])
        tell(["apt-get", "install", "-qy", "--no-install-recommends", "debootstrap"])
    part = base.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    tell(["debootstrap", "--variant=minbase", "--include=python3", RELEASE, str(part)])
    part.rename(base)


def cloned(system: Path, who: str, *, again: bool) -> str:
    """A clone of what is committed, below a private folder of a new home; its path there."""
    home = "/root" if who == "root" else f"/home/{who}"
    private = system / home[1:] / "private"
    clone = private / "nomospace"
    if again and clone.exists():
        git = ["git", "-c", "safe.directory=*", "-C", str(clone)]
        tell([*git, "fetch", "-q", str(ROOT), "HEAD"])
        tell([*git, "reset", "-q", "--hard", "FETCH_HEAD"])
    else:
        shutil.rmtree(private.parent, ignore_errors=True)
        private.mkdir(parents=True)
        tell(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)])
    for folder in (private, private.parent):
        folder.chmod(0o700)
    if who != "root":
        if f"{who}:" not in (system / "etc/passwd").read_text():
            tell(["chroot", str(system), "useradd", "--no-create-home", "--shell", "/bin/sh", who])
        tell(["chroot", str(system), "chown", "-R", f"{who}:{who}", home])
    return f"{home}/private/nomospace"


def run(system: Path, who: str, clone: str, command: str) -> int:
    """Run a command in the clone, in namespaces of its own; its exit code."""
    variables = {name: value for name, value in os.environ.items() if PASSED.match(name)}
    settings = pip_settings()
    shown = named("\n".join([settings, *variables.values()]))
    (system / "etc/pip.conf").write_text(there(settings, shown))
    variables = {name: there(value, shown) for name, value in variables.items()}
    variables |= {"HOME": clone.partition("/private")[0], "USER": who, "LANG": "C.UTF-8"}
    variables["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    given = [f"{name}={value}" for name, value in variables.items()]
    inner = shlex.join(["env", "-i", *given, "sh", "-c", f"cd {clone} && {command}"])
    changed = "" if who == "root" else f"setpriv --reuid={who} --regid={who} --init-groups "
    script = [
        "set -e",
        f"cd {shlex.quote(str(system))}",
        "mount -t proc proc proc",
        "mount --rbind /dev dev",
        "mount -t sysfs -o ro sys sys || :",
        # The pages of an index point beside it, so what is shown is the folder that it lies in.
        *[bind(system, path.parent if path.name == "simple" else path) for path in shown],
        f"exec chroot . {changed}{inner}",
    ]
    print(f"== {who}: {command}", flush=True)
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", "\n".join(script)],
        stdin=subprocess.DEVNULL,
        check=False,
    ).returncode


# -- how this machine reaches its registries -------------------------------------------------------


def pip_settings() -> str:
    """What this machine's pip is told by its files, as one file."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"^(?:global|install)\.([a-z-]+)='(.*)'$", done.stdout, re.MULTILINE)
    return "".join(["[global]\n", *[f"{name} = {value}\n" for name, value in found]])


def named(settings: str) -> list[Path]:
    """The files and folders that settings name and this machine has."""
    return [path for path in map(Path, dict.fromkeys(NAMED.findall(settings))) if path.exists()]


def there(settings: str, shown: list[Path]) -> str:
    """Settings with the places that the files and folders have in the system."""
    return NAMED.sub(
        lambda found: f"{SHOWN}{found[0]}" if Path(found[0]) in shown else found[0], settings
    )


def bind(system: Path, path: Path) -> str:
    """Shell that shows a file or a folder of this machine in the system, to be read only."""
    target = system / f"{SHOWN}{path}"[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    here, shown = shlex.quote(str(path)), shlex.quote(str(target))
    return f"mount --bind {here} {shown} && mount -o remount,ro,bind {shown}"


def tell(command: list[str]) -> None:
    """Run a command and say which; raises when it fails."""
    print(f"   {shlex.join(command)}", flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
