"""Claims: what is stated, over which arms, and how the runs decide it."""
