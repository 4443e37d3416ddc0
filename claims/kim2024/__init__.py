"""The claims of Kim, Balasubramanian and Kang (2024), arXiv 2407.12514."""
