"""Adversarial cross-lingual tagging: six rows over languages."""
