"""Simulated worlds by the thousand, one row each, in this process or on a Spark cluster."""
