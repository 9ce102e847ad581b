"""Solved play: equilibria, best responses and what a seat's choices are worth, exact for small tables."""
