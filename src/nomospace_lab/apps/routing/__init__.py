"""No application but a trial: agents write to each other while they move and hosts come and go."""
