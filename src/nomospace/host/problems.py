"""What a call to a host may be answered with instead of a value (see `calls.problems`)."""
