"""``python -m embinit`` is the command ``embinit``."""

import sys

from embinit.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
