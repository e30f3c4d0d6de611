"""A host for programs in other languages, for pages and for language models.

`forms` says how terms look in JSON, `service` what a caller may do (without any HTTP), `looking`
what goes on; `guard`, `http` and `talking` put that on the web. `mcp` serves language models.
A host that is not told to serve any of it never imports this room.
"""
