"""Clients of one host whose connections break while it crashes: no operation is lost or doubled."""
