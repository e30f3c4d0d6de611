"""The hospital: alarms through mediators, under law AP.

`001_…` sections 2 and 4 tell of it. `alarms` knows what messages look like, `people` what each
member does, `world` builds the worlds, `properties` says what must hold in them, and `live` is
the hospital that `nomospace up` shows.
"""
