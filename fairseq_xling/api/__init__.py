"""What `import fairseq_xling as xling` offers, on text and numpy arrays.

Everything here is thin: the mathematics is in `fairseq_xling.mapping` and `fairseq_xling.analysis`.
"""
