"""Exploratory claims on the rows of added tokens, from the literature and users' complaints."""
