"""For those who write laws and agents, and for our own tests: what helps to try them out."""
