"""An agent of a host for a language model, over the Model Context Protocol.

The model is given tools, and each is an operation of one agent: it passes that agent's controllers
as those of any program do, and what the law refuses comes back as words that say why, which rule
and what would pass. The server adds no power and takes none away.

`member` holds the agent and what waits for its model, `tools` is the table of what the model may
ask, `pages` what it may read, `words` how answers read, and `server` ties these to the protocol.
Only `server` knows the SDK, and is imported on use.
"""
