"""Scripts of what agents do, with every message that follows.

    algorithm fqsc                  how a script begins: central, qsc or fqsc; `eager` may follow
    domain lab: q s t               a domain and its sites; the first of them runs the server
    > create ann@lab s              a command, and all that follows until the world is quiet:
    s -> q   Register ann@lab       a frame and its way,
    s:       Created ann@lab        or what a site's agents notice
    (quiet) > create bob@lab t      a command of which nothing is shown

Commands: `create AGENT SITE`, `send FROM TO WORD`, `move AGENT SITE`, `end AGENT`; `leave AGENT
SITE` stops when the agent is between two sites, until `land AGENT` or `refuse AGENT`; `where AGENT`
shows what servers and daemons know. All other lines are remarks.
"""

from nomospace.protocols.routing.frames import (
    AgentEnded,
    AgentMigrated,
    Astray,
    Frame,
    Hint,
    MayGo,
    Migrating,
    Post,
    PostReturned,
    QueueFull,
    RecordAck,
    Refuse,
    Register,
    SeekAgent,
    Stayed,
    Update,
)
from nomospace.protocols.routing.interface import (
    AgentRefused,
    Created,
    DeliverPost,
    Effect,
    Go,
    MoveSettled,
    Noted,
    PostFailed,
    TransmitFrame,
)
from nomospace.protocols.routing.limits import RoutingLimits
from nomospace.protocols.routing.standby import PairedServer
from nomospace_lab.sim.algorithms import ALGORITHMS
from tests.unit.protocols.routing.worlds import World

LIMITS = RoutingLimits(queue_max=2)


def play(text: str) -> str:
    """The same script with what really follows from its commands."""
    shown: list[str] = []
    layout: dict[str, tuple[str, ...]] = {}
    name, eager = "", False
    world: World | None = None
    after_command = False
    for line in text.split("\n"):
        words = line.split()
        quiet = line.startswith("(quiet) > ")
        if after_command and line and not line.startswith(">") and not quiet:
            continue  # what followed when the script was written
        shown.append(line)
        after_command = line.startswith("> ")
        if words[:1] == ["algorithm"]:
            name, eager = words[1], "eager" in words[2:]
        elif words[:1] == ["domain"]:
            layout[words[1].rstrip(":")] = tuple(words[2:])
        elif after_command or quiet:
            if world is None:
                world = World(ALGORITHMS[name], layout, LIMITS, eager=eager)
            shown += do(world, words[1:] if after_command else words[2:], quiet=quiet)
    return "\n".join(shown)


def do(world: World, words: list[str], *, quiet: bool) -> list[str]:
    told: list[str] = []

    def watch(site: str, effect: Effect) -> None:
        if (line := describe(site, effect)) and not quiet:
            told.append(line)

    world.watch = watch
    match words:
        case ["create", agent, site]:
            world.create(agent, site)
        case ["send", sender, to, body]:
            world.send(sender, to, body)
        case ["move" | "leave", agent, site]:
            world.depart(agent, site)
        case ["end", agent]:
            world.end(agent)
        case ["land" | "refuse" as how, agent]:
            index = [go.agent for _, go in world.handovers].index(agent)
            world.hand_over(index, refuse=how == "refuse")
        case ["where", agent]:
            return list(knowledge(world, agent))
        case _:
            raise AssertionError(f"no such command: {' '.join(words)}")
    if words[0] == "move":
        world.settle()
    while world.network:
        world.bring(0)
    return told


def describe(site: str, effect: Effect) -> str:
    """An effect as a line; empty if nobody outside notices it."""
    match effect:
        case TransmitFrame(to, frame):
            return f"{site} -> {to}".ljust(12) + frame_words(frame)
        case DeliverPost(agent, post):
            return f"{site}:".ljust(12) + f"Deliver {agent} {post.body!r} hops {post.hops}"
        case PostFailed(post, why):
            return f"{site}:".ljust(12) + f"Failed {post_words(post)}: {why}"
        case Go(agent, to):
            return f"{site}:".ljust(12) + f"Go {agent} to {to}"
        case Created(agent) | MoveSettled(agent):
            return f"{site}:".ljust(12) + f"{type(effect).__name__} {agent}"
        case AgentRefused(agent, why):
            return f"{site}:".ljust(12) + f"Refused {agent}: {why}"
        case Noted(what):
            return f"{site}:".ljust(12) + f"Noted {what}"
        case _:
            return ""


def frame_words(frame: Frame) -> str:
    kind = type(frame).__name__
    match frame:
        case Post():
            return f"{kind} {post_words(frame)}"
        case SeekAgent(_, post) | QueueFull(post) | Astray(post):
            return f"{kind} {post_words(post)}"
        case PostReturned(post, why):
            return f"{kind} {post_words(post)}: {why}"
        case Register(_, agent, epoch, ticket):
            return f"{kind} {agent} epoch {epoch}" + (" with ticket" if ticket else "")
        case Migrating(_, agent, epoch, to):
            return f"{kind} {agent} epoch {epoch} to {to}"
        case AgentMigrated(_, agent, epoch, _, there):
            return f"{kind} {agent} epoch {epoch} with ticket, in {there}"
        case MayGo(_, agent, epoch) | RecordAck(_, agent, epoch) | Stayed(_, agent, epoch):
            return f"{kind} {agent} epoch {epoch}"
        case AgentEnded(_, agent, epoch):
            return f"{kind} {agent} epoch {epoch}"
        case Refuse(_, agent, epoch, why):
            return f"{kind} {agent} epoch {epoch}: {why}"
        case Update(_, agent, where, epoch) | Hint(_, agent, where, epoch):
            return f"{kind} {agent} is at {where} epoch {epoch}"
        case _:
            raise AssertionError(f"no words for {frame!r}")


def post_words(post: Post) -> str:
    way = f" by {','.join(post.way)}" if post.way else ""
    return f"{post.sender} to {post.to} #{post.n}{way}"


def knowledge(world: World, agent: str) -> list[str]:
    lines = []
    for (domain, _), server in world.server_cores.items():
        assert not isinstance(server, PairedServer)
        record, guess = server.record(agent), server.guess(agent)
        if record is not None:
            where = f" {record.where}" if record.where else ""
            lines.append(f"server of {domain}: {record.kind.value}{where} epoch {record.epoch}")
        if guess is not None:
            lines.append(f"server of {domain}: guesses {guess}")
    for site, daemon in world.daemons.items():
        if (phase := daemon.phase(agent)) is not None:
            lines.append(f"daemon at {site}: {phase.value}")
        elif (guess := daemon.guess(agent)) is not None:
            lines.append(f"daemon at {site}: guesses {guess}")
    return lines
