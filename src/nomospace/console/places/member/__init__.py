"""The place *As a member*: a person joins a community, presents certificates, sends, receives."""
