"""Services that a community may have besides its controllers, as cores without wires.

- `laws`: the law server's library, laws by name and by hash;
- `controllers`: which hosts offer controllers, and which of them suits an agent;
- `secretary`: the roll of a community, with single membership and roles from the start;
- `mediator`: publish and subscribe, by attributes that must all be equal.

None of them is needed for a law to be enforced: that is the controllers' work alone, and a service
that lies or is away can keep agents waiting but not let them break a law.

A core decides and says what would change; whoever drives it (`node.services`) writes the change
down and then tells the core to `apply` it. So nothing is shown that a crash could take back, and a
core begins again from the changes that were written down.
"""
