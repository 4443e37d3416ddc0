"""The command line: ``embinit`` and its commands.

pytest runs the claims. The commands are for what stands before and after: they start a project,
freeze its claims, check, compare and show verdicts, and look after the store.
"""
