"""The place of a whole story: a time line of its hosts, and its steps in lanes of their agents."""
