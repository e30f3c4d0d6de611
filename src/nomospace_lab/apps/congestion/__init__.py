"""Congestion control: a space sets its clients' pace, under law CC (`000_…` section 4.2)."""
