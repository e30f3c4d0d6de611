"""The place *As a member*: a person joins a community, presents certificates, sends, receives."""

from nomospace.console.places.member.place import show

__all__ = ["show"]
