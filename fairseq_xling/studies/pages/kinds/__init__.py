"""Kinds of results that stand apart from what writes them."""
