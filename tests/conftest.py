"""For all tests: none depends on how fast the machine is."""

from hypothesis import settings

settings.register_profile("terrazzo", deadline=None)
settings.load_profile("terrazzo")
