"""Orthogonal maps between vector spaces: tensors and numpy only, nothing of fairseq."""
