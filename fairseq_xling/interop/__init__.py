"""Checkpoints, in and out."""
