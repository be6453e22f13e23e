"""Emerging Cross-lingual Structure in Pretrained Language Models (Conneau et al., 2020)."""
