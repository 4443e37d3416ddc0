"""Data: text and vectors from outside, and what makes ids and look-ups of them."""
