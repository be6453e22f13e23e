"""The models of CLCR: transform, extract, reorder."""
