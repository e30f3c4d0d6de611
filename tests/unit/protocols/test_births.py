"""Which numbers count between two hosts that may have forgotten all: the table, case by case."""

import pytest

from nomospace.protocols.births import (
    BEFORE,
    BIRTH_MAX,
    DEAF,
    ERA_US,
    ERAS_FROM,
    ERAS_MAX,
    FITS,
    LATE,
    SILENT,
    UNKNOWN,
    BirthNews,
    Births,
    Word,
    era_of,
)

OWN = 500


def knowing(birth: int, own: int = OWN) -> Births:
    """A host that knows its peer by this birth, or has yet to meet it."""
    births = Births(own)
    if birth != UNKNOWN:
        births.learn("b", BirthNews(birth, own, anew=False))
    return births


@pytest.mark.parametrize(
    ("own", "known", "birth", "to", "word", "news"),
    [
        # They have not met: what it says counts only if it is meant for this birth.
        (OWN, UNKNOWN, 700, UNKNOWN, DEAF, BirthNews(700, OWN, anew=False)),
        (OWN, UNKNOWN, 700, OWN, FITS, BirthNews(700, OWN, anew=False)),
        (OWN, UNKNOWN, 700, 300, DEAF, BirthNews(700, OWN, anew=False)),
        # They have: a frame fits, or is for a former birth of this host.
        (OWN, 700, 700, OWN, FITS, None),
        (OWN, 700, 700, 300, DEAF, None),
        (OWN, 700, 700, UNKNOWN, DEAF, None),
        # The peer was born again, and may or may not know with whom it deals.
        (OWN, 700, 900, UNKNOWN, DEAF, BirthNews(900, OWN, anew=True)),
        (OWN, 700, 900, OWN, FITS, BirthNews(900, OWN, anew=True)),
        (OWN, BEFORE, 900, OWN, FITS, BirthNews(900, OWN, anew=True)),
        # What a former birth of it said is still under way.
        (OWN, 700, 600, OWN, LATE, None),
        (OWN, 700, BEFORE, OWN, LATE, None),
        (OWN, 700, SILENT, SILENT, LATE, None),
        # It knows a later birth of this host, whose clock was set back.
        (OWN, 700, 700, 800, DEAF, BirthNews(700, 801, anew=True)),
        (OWN, UNKNOWN, 700, 800, DEAF, BirthNews(700, 801, anew=True)),
        # One that does not speak of births is heard as it always was.
        (OWN, UNKNOWN, SILENT, SILENT, FITS, BirthNews(SILENT, OWN, anew=False)),
        (OWN, SILENT, SILENT, SILENT, FITS, None),
        (OWN, BEFORE, SILENT, SILENT, FITS, None),
        # It has learnt to, with the store it had: nothing is forgotten. With none: all is.
        (OWN, SILENT, BEFORE, OWN, FITS, BirthNews(BEFORE, OWN, anew=False)),
        (OWN, SILENT, BEFORE, SILENT, FITS, None),
        (BEFORE, SILENT, BEFORE, SILENT, FITS, None),
        (OWN, BEFORE, BEFORE, SILENT, DEAF, None),
        (OWN, UNKNOWN, BEFORE, SILENT, DEAF, BirthNews(BEFORE, OWN, anew=False)),
        (OWN, SILENT, 700, UNKNOWN, DEAF, BirthNews(700, OWN, anew=True)),
        # This host has learnt to; of one that dealt with it while it was silent it has numbers.
        (BEFORE, SILENT, 700, SILENT, FITS, BirthNews(700, BEFORE, anew=False)),
        (BEFORE, SILENT, 700, BEFORE, FITS, BirthNews(700, BEFORE, anew=True)),
        (BEFORE, SILENT, 700, UNKNOWN, FITS, BirthNews(700, BEFORE, anew=True)),
        (BEFORE, BEFORE, BEFORE, SILENT, FITS, None),
        # Nonsense changes nothing.
        (OWN, 700, BIRTH_MAX + 1, OWN, LATE, None),
        (OWN, 700, 700, BIRTH_MAX + 1, LATE, None),
    ],
)
def test_what_a_frame_is_worth(
    own: int, known: int, birth: int, to: int, word: Word, news: BirthNews | None
) -> None:
    assert knowing(known, own).weigh("b", birth, to) == (word, news)


@pytest.mark.parametrize(
    ("known", "birth", "news"),
    [
        (UNKNOWN, 700, BirthNews(700, OWN, anew=False)),
        (UNKNOWN, SILENT, BirthNews(SILENT, OWN, anew=False)),
        (700, 700, None),
        (700, 900, BirthNews(900, OWN, anew=True)),
        (700, 600, None),
        (SILENT, BEFORE, None),  # whether it has forgotten, only its own frames tell
        (SILENT, 700, None),
        (UNKNOWN, BIRTH_MAX + 1, None),
        (700, BIRTH_MAX + 1, None),
    ],
)
def test_what_a_directory_tells(known: int, birth: int, news: BirthNews | None) -> None:
    assert knowing(known).introduce("b", birth) == news


def test_eras_grow_with_births_and_end() -> None:
    births = [ERAS_FROM + n * ERA_US for n in range(4)]
    assert [era_of(birth) for birth in (SILENT, BEFORE, 2, *births)] == [0, 0, 1, 1, 2, 3, 4]
    assert era_of(BIRTH_MAX) == ERAS_MAX
    assert (ERAS_MAX << 32) + (1 << 32) - 1 < 1 << 63
