"""Posts that came back to their origin and wait there to be tried again.

They wait in line for each target. All of a line go out together when its pause is over; if they
come back, the next pause is twice as long. A line that stays empty for a pause is forgotten.
"""

from __future__ import annotations

from nomospace.protocols.routing.frames import Post
from nomospace.protocols.routing.limits import RoutingLimits


class _Line:
    __slots__ = ("at", "pause", "posts")

    def __init__(self, at: int, pause: int, posts: list[Post]) -> None:
        self.at = at
        self.pause = pause
        self.posts = posts


class Waits:
    """The lines of one daemon.

    >>> waits = Waits(RoutingLimits(pause_min=10, pause_max=15))
    >>> post = Post("ann@lab", "bob@lab", 1, "hello", "s1")
    >>> waits.add(post, 100); waits.deadline, waits.queues("bob@lab")
    (110, True)
    >>> [(target, len(posts)) for target, posts in waits.due(110)]
    [('bob@lab', 1)]
    >>> waits.add(post, 111); waits.deadline  # it came back: twice as long, up to the limit
    126
    """

    __slots__ = ("_limits", "_lines", "count", "deadline")

    def __init__(self, limits: RoutingLimits) -> None:
        self._limits = limits
        self._lines: dict[str, _Line] = {}
        self.count = 0
        self.deadline: int | None = None

    def queues(self, target: str) -> bool:
        """Whether posts for a target wait, so that another must wait behind them."""
        line = self._lines.get(target)
        return line is not None and bool(line.posts)

    def add(self, post: Post, now: int) -> None:
        """Let a post wait at the end of its line."""
        line = self._lines.get(post.target)
        if line is None:
            pause = self._limits.pause_min
            line = self._lines[post.target] = _Line(now + pause, pause, [])
        elif not line.posts:
            line.at = now + line.pause
            self._find_deadline()
        line.posts.append(post)
        self.count += 1
        self.deadline = line.at if self.deadline is None else min(self.deadline, line.at)

    def due(self, now: int) -> list[tuple[str, list[Post]]]:
        """Take out the lines whose pause is over, each in the order of numbers."""
        ready: list[tuple[str, list[Post]]] = []
        for target, line in list(self._lines.items()):
            if line.at > now:
                continue
            if not line.posts:
                del self._lines[target]
                continue
            ready.append((target, sorted(line.posts, key=lambda post: post.n)))
            self.count -= len(line.posts)
            line.posts = []
            line.pause = min(2 * line.pause, self._limits.pause_max)
            line.at = now + line.pause
        self._find_deadline()
        return ready

    def drop(self, target: str) -> None:
        """Forget a line that was let go before a restart."""
        line = self._lines.pop(target, None)
        if line is not None:
            self.count -= len(line.posts)
        self._find_deadline()

    def posts(self) -> list[Post]:
        """All that waits."""
        return [post for line in self._lines.values() for post in line.posts]

    def _find_deadline(self) -> None:
        self.deadline = min((line.at for line in self._lines.values()), default=None)

    def state(self) -> tuple[object, ...]:
        """All of it, in a fixed order."""
        return tuple(
            sorted(
                (target, line.at, line.pause, tuple(line.posts))
                for target, line in self._lines.items()
            )
        )

    def copy(self) -> Waits:
        """The same lines, apart."""
        twin = Waits(self._limits)
        twin._lines = {
            target: _Line(line.at, line.pause, list(line.posts))
            for target, line in self._lines.items()
        }
        twin.count, twin.deadline = self.count, self.deadline
        return twin
