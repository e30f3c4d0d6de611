"""No application but a trial: agents use every operation at random while hosts come and go."""
