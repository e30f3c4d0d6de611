"""Laws: read, checked, compiled, and asked for rulings.

>>> law = load('''
...     law(echo).
...     R1. sent(X, M, Y) :- do(forward).
... ''')
>>> law.name, law.rule_names[0]
('echo', 'R1')
"""

from nomospace.law.program import CompiledLaw, LawFile, load, read_source

__all__ = ["CompiledLaw", "LawFile", "load", "read_source"]
