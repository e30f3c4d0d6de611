"""The place *Spaces*: what lies in the spaces of the hosts, who waits for what, and a template."""

from nomospace.console.places.spaces import story
from nomospace.console.places.spaces.place import show

__all__ = ["show", "story"]
