"""The planner: from a question and the shapes of the tuples to a plan.

It works in four steps, a file each. `deriving` says how each field of the template may be served:
directly, or computed from inputs, which may be computed in turn; what must be found in tuples are
*needs*. `placing` says which fields of which shapes can serve the needs of one tuple. `connecting`
spreads needs over tuples and makes a tree of them, by objects they share and through further tuples
where they share none. `making` puts networks together and orders their joins.

Nothing here sees a tuple. The work depends on how many shapes there are, and each number that could
run away has a limit; a plan that met one says up to which size of sets it is complete.
"""

from nomospace.meaning.planner.making import NETWORKS_MAX, Planner

__all__ = ["NETWORKS_MAX", "Planner"]
