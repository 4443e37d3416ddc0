"""The error that embinit raises when the input is at fault and not the code.

There is one class, so that the command line and the pytest plugin can show its text alone. A
message names the thing, its location (file and line where there is one) and the mend.
"""


class InputError(ValueError):
    """Something that the user gave can't be used. The text says what, where and what to do."""
