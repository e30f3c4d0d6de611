"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# Machines are shared: that making an input took long says nothing about the test.
settings.register_profile("shared", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
