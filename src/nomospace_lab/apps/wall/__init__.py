"""The Chinese Wall: analysts and companies in conflict, under law CW (`000_…` section 6)."""
