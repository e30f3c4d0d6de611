"""No application but a trial: hosts without a store come back under their names."""
