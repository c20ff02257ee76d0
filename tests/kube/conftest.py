"""How the properties of this folder are tried: without a clock, which a busy machine would fail."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
