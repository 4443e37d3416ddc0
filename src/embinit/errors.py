"""What embinit raises when the input is at fault rather than the code.

One class, so that the command line and the pytest plugin can show its text alone: a message
names the thing, the place (file and line where there is one) and the mend.
"""


class InputError(ValueError):
    """Something the user gave can't be used; the text says what, where and what to do."""
