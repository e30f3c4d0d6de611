"""The order of posts at a seat: each pair's numbers one after the other, whatever comes first."""

from __future__ import annotations

from nomospace.protocols.routing import changes as written
from nomospace.protocols.routing.frames import Post, PostReturned, QueueFull
from nomospace.protocols.routing.interface import (
    OVERTAKEN,
    DeliverPost,
    Effect,
    Noted,
    PersistChange,
    TransmitFrame,
)
from nomospace.protocols.routing.residents import RoutedAgent
from nomospace.protocols.routing.seats import floor_of


def take(post: Post, resident: RoutedAgent, early_max: int, out: list[Effect]) -> None:
    """Deliver a post if it is its turn, keep it if it came early, drop it if it came before."""
    n, got = post.n, resident.last_from(post.sender)
    if n == got + 1:
        hand_over(post, resident, out)
    elif floor_of(n) > floor_of(got) or (got == 0 and floor_of(resident.epoch)):
        begin_life(post, resident, early_max, out)
    elif n > got:
        keep(post, resident, early_max, out)
    elif floor_of(resident.epoch):
        out.append(TransmitFrame(post.origin, PostReturned(post, OVERTAKEN)))
    else:
        out.append(Noted("repeat dropped", post.id))


def came_before(post: Post, resident: RoutedAgent) -> bool:
    """Whether an agent got a post already; one of a later life does not know for sure."""
    return post.n <= resident.last_from(post.sender) and not floor_of(resident.epoch)


def got_last(resident: RoutedAgent, most: int) -> tuple[tuple[str, int], ...]:
    """What an agent is known to have got of those whom it met last."""
    known = {} if floor_of(resident.epoch) else resident.got or {}
    return tuple(known.items())[-most:]


def hand_over(post: Post, resident: RoutedAgent, out: list[Effect]) -> None:
    """Deliver the next post of its sender, and those that have waited for it."""
    got = resident.got
    if got is None:
        got = resident.got = {}
    got[post.sender] = post.n
    out.append(PersistChange(written.LastGot(post.to, post.sender, post.n)))
    out.append(DeliverPost(post.to, post))
    if resident.early:
        drain(post.to, resident, post.sender, out)


def drain(agent: str, resident: RoutedAgent, sender: str, out: list[Effect]) -> None:
    """Deliver what has waited for the number that came."""
    early = resident.early
    while early and (sender, (n := resident.last_from(sender) + 1)) in early:
        kept = early.pop((sender, n))
        resident.put_got(sender, n)
        out.append(PersistChange(written.LastGot(agent, sender, n)))
        if kept is not None:
            out.append(DeliverPost(agent, kept))


def begin_life(post: Post, resident: RoutedAgent, early_max: int, out: list[Effect]) -> None:
    """A name is used again: by the sender, whose numbers begin anew, or by the receiver.

    A sender's former life has ended, so its last posts have waited long enough. A receiver of
    a later life cannot know which numbers its former lives got: it begins with the first that
    comes, and what that overtook goes back with a reason.
    """
    sender, n = post.sender, post.n
    floor = floor_of(n)
    for kept in resident.take_early(sender, below=floor):
        out.append(PersistChange(written.LastGot(post.to, sender, kept.n)))
        out.append(DeliverPost(post.to, kept))
    if resident.got is None:
        resident.got = {}
    first_contact = sender not in resident.got and floor_of(resident.epoch)
    resident.got[sender] = n - 1 if first_contact else floor
    if n == resident.got[sender] + 1:
        hand_over(post, resident, out)
    else:
        out.append(PersistChange(written.LastGot(post.to, sender, floor)))
        keep(post, resident, early_max, out)


def keep(post: Post, resident: RoutedAgent, early_max: int, out: list[Effect]) -> None:
    """Let a post wait for its turn; if too many do, it waits at its origin instead.

    The one that is next is never sent back for that, so those that wait get their turn.
    """
    early = resident.early
    if early is None:
        early = resident.early = {}
    if (post.sender, post.n) in early:
        out.append(Noted("repeat dropped", post.id))
    elif len(early) >= early_max:
        out.append(TransmitFrame(post.origin, QueueFull(post)))
    else:
        early[post.sender, post.n] = post
        out.append(PersistChange(written.PostKept(post)))
