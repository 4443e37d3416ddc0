"""The error that embinit raises when the input is at fault and not the code.

There is one class, so that the command line and the pytest plugin can show its text alone. A
message names the thing, its location (file and line where there is one) and the mend.
"""


class InputError(ValueError):
    """Something that the user gave can't be used. The text says what, where and what to do."""


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
