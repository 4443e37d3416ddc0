"""Claims on what holds in today's models; exploratory, of embinit."""
