"""Secure message passing through a shared space, under law MP (`000_…` sections 2 and 3.4)."""
