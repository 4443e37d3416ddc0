"""The error that embinit raises when the input is at fault and not the code.

There is one class, so that the command line and the pytest plugin can show its text alone. A
message names the thing, its location (file and line where there is one) and the mend.
"""

from __future__ import annotations

import re

# Control characters move a terminal's cursor and are not valid in HTML; those of writing direction
# show a text in another order than it has; half a surrogate pair can't be written at all.
_UNSEEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff\\ufffe\\uffff]"
)


def printable(text: str) -> str:
    r"""``text`` for people, with control and direction characters written out, as ``\u202e``.

    Tabs and ends of lines stay. JSON reads the same text from the escapes inside its strings.
    """
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


class InputError(ValueError):
    """Something that the user gave can't be used. The text says what, where and what to do.

    A path, a word or a name in it may be anybody's, so it is made ``printable``.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(printable(str(text)))


MODELS = ("torch", "safetensors", "sacrebleu")
"""What the extra ``models`` brings: embinit's own models, tables and measures need it."""


def lacking_models(error: ModuleNotFoundError) -> InputError | None:
    """The error for a package of the extra ``models`` that isn't installed; None for any other.

    Args:
        error: What importing it raised.
    """
    name = (error.name or "").partition(".")[0]
    if name not in MODELS:
        return None
    return InputError(
        f"embinit's own models and tables need {name}, which isn't installed: "
        "pip install 'embinit[models]'"
    )
