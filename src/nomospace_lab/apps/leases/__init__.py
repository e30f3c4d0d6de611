"""A work queue whose leases are to hold, whatever hosts and workers do."""
