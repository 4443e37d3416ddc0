"""Trainers: processes that call a user's functions, run after run, and note what they read.

Little is imported here: a trainer loads ``serving`` and what the user's module imports.
"""
