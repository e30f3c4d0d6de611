"""Secure bidding: clients, providers and a space, under law SB (`000_…` section 4.1)."""
