"""No application but a trial: agents that are members twice, and agents that end."""
