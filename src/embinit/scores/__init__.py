"""Scores: numbers of arms that somebody else trained, read and judged. Nothing trains here."""
