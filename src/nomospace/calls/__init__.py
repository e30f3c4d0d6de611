"""What agents ask of a host and what they are answered: all that both ends must know of it.

`requests` are what may be asked, `answers` the values and `problems` the errors that come back. A
client has these and no host; so nothing here decides anything, and nothing but terms is known.
"""
