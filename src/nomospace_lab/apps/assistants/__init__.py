"""Personal Assistants: agents that follow their people between offices, labs and departments.

The people of several departments work in small project groups. Each has an assistant that is
summoned to wherever its person goes, sometimes to another department, and at times delegated to
experts elsewhere and sent back. The assistants of a group talk all the time; some of that are
streams, which go on while one end moves.
"""
