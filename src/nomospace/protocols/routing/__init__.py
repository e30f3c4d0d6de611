"""Routing: agents move, and messages find them.

A host makes a daemon, and a server where it runs one, tells them what happens, and carries their
effects out. The algorithm is FQSC: a server for each domain, daemons that guess, and chains of
pointers between servers that collapse.
"""
