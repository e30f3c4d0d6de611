"""Matching by meaning in a database: facts as tables, a plan as SQL; pure, and of no one dialect.

`layout` says how facts stand in tables, `coding` how a value stands in columns so that every
database orders and compares it as `terms.predicate` does, `predicates` turns conditions and
`functions` dependence functions into expressions, and `building` a plan into statements. All SQL
is made of SQLGlot's expressions; what one database says in another way stands in `dialects` and
nowhere else. Whoever has a connection runs the statements and gives the rows back.
"""
