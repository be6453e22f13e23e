"""Sharing ablations of emerging cross-lingual structure (Wu et al. 2020; Conneau et al. 2020)."""
