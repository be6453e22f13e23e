"""The papers: what only one of them has."""
