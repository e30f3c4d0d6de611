"""Laws tried in virtual time: `law run`, `law test`, `law explain`, and the console's law bench.

A `Community` rules on events as a controller would, without a network; `lawrun` feeds it lines of
JSON, `lawtest` scripts of what must happen (`scenario`, `play`), and `coverage` counts what of a
law they reached. It has no clock and no chance: the same events give the same rulings.
"""
