"""Encoders of other projects, and of this one, in and out."""
