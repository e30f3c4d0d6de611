"""Sessions between clients and hosts: what each end remembers, so that nothing is lost or doubled.

Connections break and hosts are killed, and no operation of a client may be lost or done twice. The
rules stand at the head of `host_sessions`. Neither end has a clock, a socket or a task: `node` and
`client` drive them over real connections, `sim` over simulated ones.
"""
