"""The laboratory of Nomospace: what its makers and its users try it with, beside what they run.

A package of its own, since nobody needs it who runs a host or a client: simulated worlds (`sim`),
the papers' applications (`apps`), tests of agents and searches for bugs (`testing`), measures
(`bench`). It imports the runtime, `nomospace`, which never imports it. Its commands are found by
the command line in `nomospace_lab.commands`, once it is installed.
"""
