"""The non-linearities of feed-forward layers and of BERT's LM head."""

from functools import partial

import torch.nn.functional as F

from fairseq_xling.registry import Registry

activations: Registry = Registry("activation")

activations.register("gelu")(F.gelu)
activations.register("gelu_tanh")(partial(F.gelu, approximate="tanh"))
activations.register("relu")(F.relu)
