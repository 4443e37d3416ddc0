"""The sets of data draws, which never meet, and all other draws.

A setting is chosen, a margin is registered and a claim is tested on draws of different sets. So no
choice was made on what a claim is tested on.
"""

from __future__ import annotations

from collections.abc import Mapping

CHOOSING = range(1)
"""The draw that settings were chosen on, whose names have no number."""

REGISTERING = range(1000, 1010)
"""The draws that margins and standard deviations are registered on."""

CLAIMING = range(3001, 3021)
"""The draws that claims are tested on."""

BILINGUAL_REGISTERING, BILINGUAL_CLAIMING = range(4101, 4111), range(4001, 4021)
"""The same for claims on models whose tables are of both languages."""

PRETRAINING_REGISTERING, PRETRAINING_CLAIMING = range(5101, 5111), range(5001, 5021)
"""The same for claims on models that are pre-trained and then fine-tuned."""

SETS: Mapping[str, range] = {
    "choosing": CHOOSING,
    "registering": REGISTERING,
    "claiming": CLAIMING,
    "bilingual registering": BILINGUAL_REGISTERING,
    "bilingual claiming": BILINGUAL_CLAIMING,
    "pre-training registering": PRETRAINING_REGISTERING,
    "pre-training claiming": PRETRAINING_CLAIMING,
}
"""The sets by name. A draw in none of them is ``free``."""


def draw_set(draw: int) -> str:
    """The name of the set that a draw belongs to; ``free`` where it belongs to none."""
    return next((name for name, draws in SETS.items() if draw in draws), "free")
