"""`python -m nomospace.cli.console`: one piece of work for a console, in a process of its own.

It reads one JSON object (`children.Work`) and prints one: the answer. What is wrong with what it
was given goes to stderr in the words of the command line, with exit code 2. It may take so much
memory and processor time and no more.
"""

from __future__ import annotations

import resource
import sys
from typing import Final

from nomospace.cli.console.children import do
from nomospace.errors import NomospaceError

BYTES_MAX: Final = 4_000_000_000
"""How much memory it may take."""
CPU_S_MAX: Final = 120
"""How much processor time it may take."""


def main() -> int:
    """Do the work that stands on stdin."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    try:
        sys.stdout.buffer.write(do(sys.stdin.buffer.read()))
    except NomospaceError as error:
        print(error, file=sys.stderr)
        return 2
    except MemoryError:
        print(f"it takes more than {BYTES_MAX:,} bytes of memory; give less", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
