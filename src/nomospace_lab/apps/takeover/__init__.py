"""Processes that stand for one host: killed, paused and cut off, they lose and double nothing."""
