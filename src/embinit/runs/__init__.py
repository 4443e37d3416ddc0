"""Runs: kinds of runs, their plan, their training, and the store that keeps them."""
