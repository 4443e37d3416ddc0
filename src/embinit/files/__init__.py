"""Files: writing that a kill can't halve, and reading that refuses in one line."""
