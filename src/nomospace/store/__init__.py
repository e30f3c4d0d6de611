"""Durable state and journal of a host: memory, SQLite and PostgreSQL behind one interface."""
