"""Maps between vector spaces: only tensors and numpy, independent of fairseq.

Rows are vectors, and maps are applied from the right, ``x @ W``:

>>> import torch
>>> from fairseq_xling.mapping.procrustes import procrustes
>>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
>>> w = procrustes(x, x.flip(1))
>>> torch.allclose(x @ w, x.flip(1), atol=1e-6)
True
"""
