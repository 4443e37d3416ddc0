"""Data: tasks and sources of vectors, and their preparation as ids and looked-up vectors."""
