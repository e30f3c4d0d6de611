"""The hospital: alarms through mediators, under law AP.

`001_…` sections 2 and 4 tell of it. `alarms` knows what messages look like.

Simulated: `people` says what each member does, `world` builds the worlds, `properties` says what
must hold in them, and `live` is the one that `nomospace up --text` draws.

For real, as `nomospace up` has it: `ward` is the hospital on its hosts, `cast` who is in it,
`gauge` the rogue and the quiet informer, `assistant` the agent that goes from ward to ward.
"""
