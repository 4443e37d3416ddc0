"""A plugin of sessions within tests: one language for all seeds takes less time than a world each.

The fixture ``worlds`` of conftest.py gives a test the claims as they are, and test_worlds has many.
"""

from embinit_papers.settings import WORLDS

WORLDS.clear()
