"""Stories: what led to an event and what came of it, over all hosts of the group.

`facts` says what a record of a journal makes and uses, `window` finds who made what another used,
`reading` brings records of the store and of sealed segments, and `telling` asks the hosts and puts
it together.
"""
