"""Read and write files, with one clear error for a broken one."""
