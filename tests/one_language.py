"""A plugin of sessions within tests: one language for all seeds takes less time than a world each.

test_worlds has many.
"""

from embinit_papers.settings import WORLDS

WORLDS.clear()
