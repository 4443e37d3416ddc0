"""The claims of Chung, Févry, Tsai, Johnson and Ruder (2021), arXiv 2010.12821."""
