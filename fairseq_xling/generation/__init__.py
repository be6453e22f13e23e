"""Translating in one pass through the encoder: generator, orderings, data and text."""
