"""Lets `python -m nomospace.cli` be the command line."""

import sys

from nomospace.cli import main

if __name__ == "__main__":
    sys.exit(main())
