"""The place *Spaces*: what lies in the spaces of the hosts, who waits for what, and a template."""
