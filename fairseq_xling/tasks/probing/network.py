"""A probe: from the vectors of one or two spans to the probability of every label.

Tenney et al. 2019, "What do you learn from context?", section 3.1: of each span, its vectors are
projected and pooled by its own attention; the pooled spans are concatenated and classified,
each label by a sigmoid. With several layers, their mixture is learnt (Peters et al. 2018, Eq. 1):

    e_i = gamma sum_l softmax(s)_l h_i^l,   z_i = A e_i + b,   r = sum_i softmax(w z)_i z_i

B examples, M vectors of a span, L layers, D width, P projected width, S spans, C labels.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from fairseq_xling.registry import Registry

classifiers: Registry[Callable[..., nn.Module]] = Registry("`--classifier`")


@classifiers.register("linear")
def linear(width: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    """(B, width) to (B, C), linearly."""
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))


@classifiers.register("mlp")
def mlp(width: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    """(B, width) to (B, C) through a layer of ``hidden`` units."""
    return nn.Sequential(
        nn.Linear(width, hidden),
        nn.Tanh(),
        nn.LayerNorm(hidden),
        nn.Dropout(dropout),
        nn.Linear(hidden, labels),
    )


class EdgeProbe(nn.Module):
    """See the module's docstring.

    Args:
        layers: L; width: D; spans: S; labels: C.
        projection: P.
        classifier: a name of `classifiers`, with its ``hidden`` units.
        dropout: on the classifier's input.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        spans: int,
        labels: int,
        projection: int = 256,
        classifier: str = "mlp",
        hidden: int = 256,
        dropout: float = 0.3,
    ):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(layers)) if layers > 1 else None
        self.scale = nn.Parameter(torch.ones(())) if layers > 1 else None
        self.project = nn.ModuleList(nn.Linear(width, projection) for _ in range(spans))
        self.attend = nn.ModuleList(nn.Linear(projection, 1, bias=False) for _ in range(spans))
        self.classify = classifiers[classifier](spans * projection, hidden, labels, dropout)

    def forward(self, spans: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """Logits (B, C), natural-log odds of each label.

        Args:
            spans: S of vectors (B, M, L, D) and a mask (B, M) of the real ones, at least one in
                each row; the others have no influence.
        """
        pooled = []
        for project, attend, (x, inside) in zip(self.project, self.attend, spans, strict=True):
            z = project(self._mixed(x.masked_fill(~inside[..., None, None], 0.0)))
            weights = attend(z)[..., 0].masked_fill(~inside, -torch.inf).softmax(-1)
            pooled.append((weights[..., None] * z).sum(1))
        return self.classify(torch.cat(pooled, dim=-1))

    def weights(self) -> list[float] | None:
        """softmax(s), the share of each layer, if there are several."""
        return None if self.mix is None else self.mix.softmax(0).tolist()

    def _mixed(self, x: Tensor) -> Tensor:
        if self.mix is None or self.scale is None:
            return x[:, :, 0]
        return self.scale * torch.einsum("bmld,l->bmd", x, self.mix.softmax(0))
