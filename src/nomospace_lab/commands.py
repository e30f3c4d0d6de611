"""What the laboratory adds to the command line `nomospace` (`nomospace.cli.laboratory`)."""

from typing import Final

from nomospace.cli import Command

COMMANDS: Final = {
    "up": Command("nomospace_lab.cli.up", "app", "Show a hospital at work, in the console."),
    "sim": Command(
        "nomospace_lab.cli.sim", "app", "Run simulated worlds and check what they promise."
    ),
    "bench": Command(
        "nomospace_lab.cli.bench", "app", "Measure, beside what one would use instead."
    ),
    "test": Command(
        "nomospace_lab.cli.repo", "pytest_app", "Run the tests of a clone; --quick for some."
    ),
    "check": Command(
        "nomospace_lab.cli.repo", "check_app", "Check format, lint, types and layers."
    ),
}
"""Commands, as `nomospace.cli.COMMANDS` has its own."""

PARTS: Final = {
    "journal make": ("nomospace_lab.cli.journal_make", "make"),
    "pipeline sweep": ("nomospace_lab.cli.sweep", "sweep"),
}
"""Parts of commands of the runtime: the module and the function of each."""
