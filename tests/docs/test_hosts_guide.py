"""The guide for those who run hosts has every key of a configuration, and the code's limits."""

import re
import tomllib
from importlib import import_module
from inspect import getmembers, isclass

import msgspec
import pytest

from nomospace.client import dialling, session_driver
from nomospace.errors import NomospaceError
from nomospace.extras import EXTRAS
from nomospace.host.shares import USUAL_SHARES, Shares
from nomospace.node import book, clients, config, framed, keeper
from nomospace.node.config import Config, read_config
from nomospace.node.discover import GROUP, PORT
from nomospace.node.listen import PortLimits
from nomospace.node.metrics import KNOWN
from nomospace.protocols import pace
from nomospace.sessions import host_sessions
from nomospace.wire.admin import TAIL_MAX
from nomospace.wire.frames import PARCEL_BYTES_MAX
from nomospace.wire.framing import FRAME_BYTES_MAX, STRANGER_BYTES_MAX
from nomospace.wire.talk import WINDOW
from tests.docs.pages import blocks
from tests.repo.rooms import ROOT

PAGE = ROOT / "docs" / "hosts" / "guide.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
FILES = {block.file: block.text for block in blocks(PAGE) if block.language == "toml"}
LIMITS = {
    "connections to a port": PortLimits().connections_max,
    "connections from one address": PortLimits().per_address_max,
    "strangers: connections that have not said who they are": PortLimits().strangers_max,
    "of them from one address": PortLimits().strangers_per_address_max,
    "of them that are heard at once; others wait": PortLimits().proving_max,
    "of these from one address": PortLimits().proving_per_address_max,
    "bytes that a stranger may send": STRANGER_BYTES_MAX,
    "that all of them may send": STRANGER_BYTES_MAX * PortLimits().proving_max,
    "seconds for a stranger to say it": int(PortLimits().stranger_s),
    "seconds for it while others wait": int(PortLimits().hurry_s),
    "clients of a host": clients.CLIENTS_MAX,
    "sessions of a host": host_sessions.SESSIONS_MAX,
    "seconds that a session waits for its client": USUAL_SHARES.session_s,
    "calls of one client under way": WINDOW,
    "firings and letters that wait for a client": Shares().agent_letters,
    "a frame, in bytes": FRAME_BYTES_MAX,
    "an agent that moves with all that it has, or what `take_all` gets from another host, "
    "in bytes": PARCEL_BYTES_MAX,
    "hosts that a host is linked with": book.HOSTS_MAX,
    "addresses to join": config.JOIN_MAX,
    "bytes that wait for one peer": framed.BUFFER_BYTES_MAX,
    "steps in one transaction": keeper.GROUP_MAX,
    "steps that wait for the disk": keeper.WAITING_MAX,
    "records kept without segments": config.Journal().keep_records,
    "a configuration file, in characters": config.FILE_BYTES_MAX,
    "lines of one answer to an operator": TAIL_MAX,
}
RAISED_IN = """
    calls.problems client.dialling host.posting node.client_link node.config node.journaling
    node.listen store.backup store.interface store.segments wire.segments
""".split()


def test_every_extra_has_a_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", SECTIONS["Installing"], re.MULTILINE)
    assert {*rows} == {*EXTRAS, "all"}


@pytest.mark.parametrize("what", LIMITS)
def test_limits(what: str) -> None:
    assert f"| {what} | {LIMITS[what]:,} |" in SECTIONS["Limits"]


def test_limits_are_all_checked() -> None:
    rows = re.findall(r"^\| (.+) \| [\d,]+ \|$", SECTIONS["Limits"], re.MULTILINE)
    assert sorted(rows) == sorted(LIMITS)


def test_figures_in_prose() -> None:
    assert f"the latest {config.Journal().keep_records:,} are kept" in SECTIONS["The journal"]
    assert (
        f"after {session_driver.RECONNECT_S:g} s without the host" in SECTIONS["What is promised"]
    )
    assert f"(UDP {GROUP}, port {PORT})" in SECTIONS["Joining hosts"]
    joining = " ".join(SECTIONS["Joining hosts"].split())
    beats = f"from {pace.HEARTBEAT_MIN // 1000:,} to {pace.HEARTBEAT_MAX // 1000:,} ms"
    assert f"A heartbeat takes {beats}" in joining
    assert pace.BEATS_MIN == 2
    assert f"at least two heartbeats, at most {pace.LOSS_MAX // 1000:,} ms" in joining
    usual = Config().host.listen
    assert usual.endswith(f":{dialling.PORT}")
    assert f"by default `nomos+plain://{usual}`" in SECTIONS["With certificates"]


def test_the_file_has_every_key_with_its_usual_value_or_a_good_one() -> None:
    told = read_config(FILES["ward-3.toml"], "ward-3.toml")
    for table in msgspec.structs.fields(Config):
        inside = getattr(told, table.name)
        if isinstance(inside, dict):
            assert inside, table.name
            continue
        written = tomllib.loads(FILES["ward-3.toml"])[table.name]
        assert list(written) == list(inside.__struct_fields__), table.name
    assert told.journal == config.Journal(folder="journal")
    assert told.links == config.LinkSettings()
    assert told.limits == Shares()


def test_metrics_are_known() -> None:
    for prefix, name in re.findall(r"`(nomospace)?_(\w+)`", SECTIONS["Metrics and logs"]):
        assert name in KNOWN, (prefix, name)


def test_error_codes_are_the_code_s() -> None:
    raised = {
        kind.code
        for module in RAISED_IN
        for _, kind in getmembers(import_module(f"nomospace.{module}"), isclass)
        if issubclass(kind, NomospaceError)
    }
    rows = re.findall(r"^\| (`.+?) \|", SECTIONS["Exit codes and errors"], re.MULTILINE)
    told = re.findall(r"`([a-z-]+\.[a-z-]+)`", " ".join(rows))
    assert len(told) > 10
    assert set(told) <= raised
