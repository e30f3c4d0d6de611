"""The place *Communities*: who is under which law, what the law does, and who owes what."""
