"""fairseq and torch as they are here: what is replaced, checked and worked around in them."""
