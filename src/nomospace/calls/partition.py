"""How a space is partitioned: by a field of its tuples, or by a property of a field.

A tuple's *key* is what stands there. Which host a key is at home at is said in `protocols.homes`.
How a space is partitioned is a part of what ties it together with those of other agents and hosts,
like its ontology: it stands behind the hash of that, as `<hash>/1`, so hosts that know of no
partitions never take such a space for one of theirs.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from nomospace.errors import CallerError, LimitReached
from nomospace.terms import MISSING, WIDTH_MAX, Template, Term, property_of
from nomospace.terms.formals import has_holes
from nomospace.terms.objects import Missing
from nomospace.terms.values import ATOMIC, dict_items

PROPERTY_MAX: Final = 200
"""The longest name of a property, in characters."""
_TEXT: Final = re.compile(r"([0-9]{1,3})(?:\.(.+))?", re.DOTALL)
_BETWEEN: Final = "/"


class BadPartition(CallerError):
    """What a space is to be partitioned by is no field."""

    code = "space.bad-partition"
    words = (
        "{given} is nothing that a space can be partitioned by; name a field of its tuples from 0 "
        "on, field(1), or a property of one, field(0, 'vin'); as text 1, or 0.vin"
    )
    given: str


class OtherPartition(CallerError):
    """A space is opened or shared with another partition than it has."""

    code = "space.other-partition"
    words = (
        "space {space!r} is {here} {where}, and {wanted} was asked for; "
        "open it as it is, or use another name"
    )
    space: str
    partition: str
    given: str
    where: str = "on this host"

    @property
    def here(self) -> str:
        return in_words(self.partition)

    @property
    def wanted(self) -> str:
        return in_words(self.given)


KEY_BYTES_MAX: Final = 4_096
"""How many bytes a key has at most: it is hashed for each tuple whenever the group changes."""


class KeyTooLarge(LimitReached):
    """The field that a tuple's space is partitioned by is too large."""

    code = "limits.key"
    what: str = "the bytes of the field that a space is partitioned by"
    limit: int = KEY_BYTES_MAX
    advice: str = "partition by a shorter field, such as a name or a number"


class NoKey(CallerError):
    """A tuple, or a template, has not the field that its space is partitioned by."""

    code = "space.no-key"
    words = (
        "space {space!r} is {by}, and this {what} has no such field; "
        "nothing was done: give it one, or use a space without a partition"
    )
    space: str
    partition: str
    what: str

    @property
    def by(self) -> str:
        return in_words(self.partition)


class AtHomeElsewhere(CallerError):
    """A tuple of a partitioned space is written for an agent."""

    code = "space.at-home-elsewhere"
    words = (
        "a tuple of space {space!r} is at home where its key says, and cannot be written for {to}; "
        "leave out to=, or use a space without a partition"
    )
    space: str
    to: str


class PartitionKey(msgspec.Struct, frozen=True, gc=False):
    """What a space is partitioned by: a field, from 0 on, or a property of an object or dict there.

    >>> PartitionKey(1).of_tuple(("job", 17)), PartitionKey(0, "vin").of_tuple(("job", 17))
    (17, MISSING)
    >>> PartitionKey(0, "vin").text, PartitionKey.read("0.vin")
    ('0.vin', PartitionKey(index=0, name='vin'))
    """

    index: int
    name: str = ""

    @property
    def text(self) -> str:
        """As it is written in a space's tie, and as people give it on a command line."""
        return f"{self.index}.{self.name}" if self.name else str(self.index)

    @classmethod
    def read(cls, text: str) -> PartitionKey:
        """Read it back; raises `BadPartition`."""
        found = _TEXT.fullmatch(text)
        if found is None or int(found[1]) >= WIDTH_MAX or len(found[2] or "") > PROPERTY_MAX:
            raise BadPartition(given=repr(text[:60]))
        return cls(int(found[1]), found[2] or "")

    def of_tuple(self, fields: tuple[Term, ...]) -> Term | Missing:
        """The key of a tuple, or `MISSING`."""
        if self.index >= len(fields):
            return MISSING
        value = fields[self.index]
        return property_of(value, self.name) if self.name else value

    def of_template(self, template: Template) -> Term | Missing:
        """The key of every tuple that a template matches, or `MISSING` where it leaves that open.

        One that names a class does: its tuples may have any width and order.

        >>> key = PartitionKey(1)
        >>> key.of_template(Template.of(("job", 17))), key.of_template(Template.of(("job", int)))
        (17, MISSING)
        >>> PartitionKey(0, "vin").of_template(Template.of(({"vin": "x"}, int)))
        'x'
        """
        if template.meant:
            return MISSING
        index = self.index
        if not self.name:
            for pos, value in template.equal:
                if pos == index:
                    return value
            if template.plain or index >= template.arity:
                return MISSING
            pattern = template.term[index]
            return MISSING if has_holes(pattern) else pattern
        if index >= template.arity:
            return MISSING
        for name, value in dict_items(template.term[index]) or ():
            if name == self.name:
                return MISSING if has_holes(value) else value
        return MISSING

    def excludes(self, template: Template) -> bool:
        """Whether no tuple with a key can match a template.

        >>> PartitionKey(2).excludes(Template.of(("job", 17)))
        True
        """
        if template.meant:
            return False
        if self.index >= template.arity:
            return True
        return bool(self.name) and template.term[self.index].__class__ in ATOMIC


def field(index: int, name: str = "") -> PartitionKey:
    """What to partition a space by: `field(1)` is the second field of its tuples.

    `field(0, "vin")` is the property, or key, `vin` of an object or dict in the first field.

    >>> field(1).text
    '1'
    """
    right = type(index) is int and 0 <= index < WIDTH_MAX and isinstance(name, str)
    if not right or len(name) > PROPERTY_MAX:
        raise BadPartition(given=f"field({index!r}, {name!r})"[:100])
    return PartitionKey(index, name)


def tied(ontology: str, partition: str) -> str:
    """What a space's tie says of its ontology and its partition.

    >>> tied("ab12", ""), tied("ab12", "1"), tied("", "0.vin")
    ('ab12', 'ab12/1', '/0.vin')
    """
    return f"{ontology}{_BETWEEN}{partition}" if partition else ontology


def untied(word: str) -> tuple[str, str]:
    """The hash of the ontology, and the text of the partition, that a tie says.

    >>> untied("ab12"), untied("/0.vin")
    (('ab12', ''), ('', '0.vin'))
    """
    ontology, _, partition = word.partition(_BETWEEN)
    return ontology, partition


def in_words(partition: str) -> str:
    """A partition as a sentence has it.

    >>> in_words("1"), in_words("0.vin"), in_words("")
    ('partitioned by field 1', "partitioned by 'vin' of field 0", 'not partitioned')
    """
    if not partition:
        return "not partitioned"
    index, _, name = partition.partition(".")
    return f"partitioned by {name!r} of field {index}" if name else f"partitioned by field {index}"
