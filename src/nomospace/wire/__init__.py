"""Messages, rulings and records to bytes and back: versions and size limits, no decisions."""
