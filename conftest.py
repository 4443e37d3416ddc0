"""Shared by tests and claims: nothing here but what every pytest run of the project needs.

The plugin (options, the ``experiment`` fixture, verdicts) comes with the package.
"""
