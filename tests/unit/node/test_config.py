"""What a host is told at its start, and what it says of slips."""

import pytest

from nomospace.node.config import BadConfig, read_config
from nomospace.protocols.pace import USUAL, Pace
from nomospace.protocols.policy import Announced, Position, Reachable

GOOD = """\
[host]
name = "ward-3"
listen = "127.0.0.1:0"
join = ["127.0.0.2:7420", "[::1]:7421"]
insecure = true

[servers]
ward = ["ward-3", "ward-4"]

[journal]
folder = "journal"
seconds = 5

[links]
heartbeat_ms = 100
loss_ms = 400
"""


def test_a_file_is_read_and_flags_win() -> None:
    config = read_config(GOOD, "ward.toml", store="memory", join=("127.0.0.9:1",), domain=None)
    assert config.host.name == "ward-3"
    assert config.store == "memory"
    assert config.host.join == ("127.0.0.9:1",)
    assert config.servers == {"ward": ("ward-3", "ward-4")}
    assert config.journal.seconds == 5.0
    assert config.pace == Pace(heartbeat=100_000, loss=400_000)
    assert read_config(GOOD, "ward.toml", links={"loss_ms": 900}).pace.loss == 900_000
    assert read_config("", "ward.toml", name="ward", insecure=True).pace == USUAL


@pytest.mark.parametrize(
    ("old", "new", "where", "why"),
    [
        ("[journal]", "[jurnal]", "ward.toml, line 10", "did you mean 'journal'"),
        ("seconds", "secondz", "ward.toml, line 12", "no key 'secondz'"),
        ("seconds = 5", "seconds = 0", "ward.toml, line 12", "more than 0"),
        ("seconds = 5", 'seconds = "5"', "ward.toml, line 12", "[journal] seconds: expected"),
        ("join = [", "join = [[", "ward.toml, line 5", "mend the file"),
        ("127.0.0.2:7420", "127.0.0.2:99999", "ward.toml, line 4", "from 0 to 65535"),
        ("127.0.0.2:7420", "a b", "ward.toml, line 4", "is no address"),
        ("127.0.0.1:0", "0.0.0.0:0", "ward.toml, line 3", "loopback"),
        ("insecure = true", "", "ward.toml, line 1", "nomospace trust init"),
        ("insecure = true", 'trust = "x"\ninsecure = true', "ward.toml, line 6", "exclude"),
        ("insecure = true", 'insecure = true\ntransport = "udp"', "line 6", "no transport"),
        ('"ward-3"\n', '"ward 3"\n', "ward.toml, line 2", "ward 3"),
        ('name = "ward-3"', "", "ward.toml, line 1", "needs a name"),
        ('["ward-3", "ward-4"]', "[]", "ward.toml, line 8", "at least one host"),
        ('["ward-3", "ward-4"]', '["a", "a"]', "ward.toml, line 8", "twice"),
        ('folder = "journal"', "folder = 3", "ward.toml, line 11", "[journal] folder: expected"),
        ("heartbeat_ms = 100", "heartbeat_ms = 5", "ward.toml, line 15", "from 20 to 60,000 ms"),
        ("[links]", '[contact]\npolicy = "near"\n[links]', "ward.toml, line 15", "no policy"),
        ("[links]", "[contact]\nposition = [1]\n[links]", "line 15", "two or three finite"),
        ("[links]", "[contact]\nspeed_max = nan\n[links]", "line 15", "must be 0 at least"),
        ("[links]", '[contact]\npolicy = "position"\n[links]', "line 14", "safe distance of 0 m"),
        ("loss_ms = 400", "loss_ms = 150", "ward.toml, line 16", "from 200, 2 heartbeats, to"),
    ],
)
def test_a_slip_is_told_with_its_line(old: str, new: str, where: str, why: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(BadConfig) as caught:
        read_config(GOOD.replace(old, new), "ward.toml")
    assert where in caught.value.where
    assert why in str(caught.value)


def test_a_policy_goes_by_the_hosts_own_loss() -> None:
    told = '[contact]\npolicy = "position"\nrange_m = 100\nspeed_max = 2\nposition = [1, 2]\n'
    policy = read_config(GOOD + told, "ward.toml").policy
    assert policy == Position(range_m=100, speed_max=2, detect_s=0.4)
    assert read_config(GOOD, "ward.toml", contact={"policy": "announced"}).policy == Announced()
    assert read_config(GOOD, "ward.toml").policy == Reachable()


def test_a_wrong_flag_is_told_by_its_name() -> None:
    with pytest.raises(BadConfig, match=r"^--listen: "):
        read_config("", "ward.toml", name="ward", insecure=True, listen="192.0.2.1:1")
    with pytest.raises(BadConfig, match=r"^NAME: "):
        read_config("", "ward.toml", name="a@b", insecure=True)
    with pytest.raises(BadConfig, match=r"^--loss-ms: a loss of 1 ms is out of bounds"):
        read_config(GOOD, "ward.toml", links={"loss_ms": 1})
    with pytest.raises(BadConfig, match=r"^--http: "):
        read_config(GOOD, "ward.toml", services={"http": "a b"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('host.name = "a"\n[host]\ninsecure = true', "line 2, column 6: [host] is there already"),
        ('[log]\nform = "json"\n[log]\n', "line 3, column 5: [log] is there already, from line 1"),
        ("journal.rows = 1\n[journal]\nrows = 2", "from line 1 on; put the two together"),
        ('host = {name = "a"}\nhost.insecure = true', "ward.toml, line 2"),
        ('host.name = "a"\nhost.name = "b"', "line 2, column 16: this key has a value already"),
        ('host.name = "a"\nhost.jion = []', "line 2: [host] has no key 'jion'"),
        ('host . "listen" = "bad"\nhost.name = "a"\nhost.insecure = true', "line 1: 'bad' is no"),
        ('[[host]]\nname = "a"', "line 1: [host] is a table"),
        ('[host]\nname = """a\nb', "ward.toml, line 3"),
        ('[host]\nname = "a', "ward.toml, line 2"),
    ],
)
def test_dotted_keys_and_what_is_given_twice_are_told_with_their_line(
    text: str, words: str
) -> None:
    with pytest.raises(BadConfig) as caught:
        read_config(text, "ward.toml")
    assert words in str(caught.value)
