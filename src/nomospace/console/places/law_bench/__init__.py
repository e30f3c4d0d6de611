"""The place *Law bench*: a law is written, checked as one types, tried, compared, and adopted."""
