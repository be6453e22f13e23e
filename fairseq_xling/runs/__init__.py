"""Resumable runs made of steps: the demo and the papers' studies."""
