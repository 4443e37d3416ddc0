"""Data: text and vectors from outside, and their preparation as ids and look-ups."""
