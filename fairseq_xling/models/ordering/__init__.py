"""Order heads: from the states of key-points to their order in the other language, by name.

CLCR, section 3.3: the key-points of one language are put into the other's order. A head scores
positions, and a search (`fairseq_xling.models.ordering.search`) finds the best permutation.
`--order abs` predicts the position of a key-point, `rel` which of two comes first. To add a head,
put a file here with a class registered under ``@order_heads.register("name")``.

B sentences, K key-points (padded at the end), D width, L layers.
"""

from collections.abc import Collection
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.core.registry import Registry, unknown_name
from fairseq_xling.models.layer import EncoderLayer, attention_mask
from fairseq_xling.models.ordering.search import Found

order_heads: Registry = Registry("`--order`", "fairseq_xling.models.ordering")

SIDES = ("first", "second")  # the language whose key-points are ordered
LAYERS = 2
MAX_WIDTH = 256
HEAD_WIDTH = 64


class OrderMap(NamedTuple):
    """A matrix of each sentence's key-points, to be shown as a heat map (CLCR, Figure 3).

    Attributes:
        title: what it is; what: its values, in words.
        matrix: (B, K, K), rows are key-points.
        pairs: whether columns are key-points as well; else they are positions.
        scale: its lowest and highest possible value.
    """

    title: str
    what: str
    matrix: Tensor
    pairs: bool
    scale: tuple[float, float] = (0.0, 1.0)


class OrderHead(nn.Module):
    """Base class of the heads; ``MyHead(dim)`` must work, everything else has defaults.

    Attributes:
        searches: the searches for an order from this head's scores, by name.
        weights: names of the costs of a wrong decision.
    """

    searches: ClassVar[Registry]
    weights: ClassVar[Collection[str]] = ()

    def forward(self, states: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """Scores, float32, of the head's own shape.

        Args:
            states: (B, K, D) of the key-points, in the order of their own sentence.
            padding_mask: (B, K), True at padding, which must follow the key-points; ``None`` where
                nothing is padded.
        """
        raise NotImplementedError(type(self).__name__)

    def loss(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The sum of the losses in nats and their count, scalar tensors.

        If nothing has a gold position, the sum is 0 but still depends on the scores.

        Args:
            scores: of `forward`.
            positions: (B, K) integers, the gold position of each key-point among those of its
                sentence, from 0; -1 for none. Padding is not read.
        """
        raise NotImplementedError(type(self).__name__)

    def correct(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The numbers of correct and of all individual decisions of the classifier: scalars.

        No search is run; arguments as of `loss`.
        """
        raise NotImplementedError(type(self).__name__)

    def maps(self, scores: Tensor, positions: Tensor) -> list[OrderMap]:
        """The gold matrix, and the head's own (default: none are shown).

        Args:
            scores: of `forward`, of sentences with equally many key-points.
            positions: (B, K), their gold positions.
        """
        return []

    def find(
        self,
        scores: Tensor,
        padding_mask: Tensor | None = None,
        *,
        search: str = "beam",
        width: int = 10,
        weigh: str = "",
    ) -> Found:
        """The best permutation that a search finds: ``ranks`` (B, K) and ``cost`` (B,).

        ``ranks[b, i]`` is the position of key-point i; padding keeps its own index, so that
        ``states.gather(1, ranks.argsort(1)[..., None].expand_as(states))`` reorders states.

        Args:
            search: a name of `searches`.
            width: hypotheses kept for each sentence (`--beam`).
            weigh: a name of `weights` (default: the head's own choice, the only one without
                `weights`).
        """
        raise NotImplementedError(type(self).__name__)


def reordered_side(name: str, option: str = "--reorder") -> int:
    """0 or 1, the side that ``option`` names."""
    if name not in SIDES:
        raise unknown_name(f"`{option}`", name, list(SIDES))
    return SIDES.index(name)


def head_key(name: str, side: str) -> str:
    """The key of a head among a model's modules; ``side`` is of `SIDES`.

    >>> head_key("rel", "first"), head_key("rel", "second")
    ('order_rel', 'order_rel_second')
    """
    return f"order_{name}" if side == SIDES[0] else f"order_{name}_{side}"


class Reader(nn.Module):
    """Key-points with their positions, after self-attention: (B, K, D) to (B, K, W).

    The position is that among the key-points of the sentence, as sinusoids (Vaswani et al., 2017,
    section 3.5), which are unbounded. With tiny encoders it gains half as many bigrams again, since
    the positions in the states also count the tokens that were left out.

    Args:
        dim: D; W is that, at most 256.
        layers: L; with 0 key-points are independent of each other.
        dropout: inside the layers.
    """

    def __init__(self, dim: int, layers: int, dropout: float):
        super().__init__()
        self.width = min(dim, MAX_WIDTH)
        most = max(1, self.width // HEAD_WIDTH)
        heads = max(n for n in range(1, most + 1) if self.width % n == 0)
        self.reduce = nn.Linear(dim, self.width)
        self.norm = nn.LayerNorm(self.width)
        self.layers = nn.ModuleList(
            EncoderLayer(self.width, 4 * self.width, heads, dropout, 0.0) for _ in range(layers)
        )

    def forward(self, states: Tensor, padding_mask: Tensor | None) -> Tensor:
        x = self.reduce(states)
        x = self.norm(x + sinusoids(x.shape[1], self.width, x.device).to(x))
        mask = attention_mask(padding_mask)
        for layer in self.layers:
            x = layer(x, mask)
        return x


def sinusoids(count: int, width: int, device: torch.device | None = None) -> Tensor:
    """(count, width): sines of the positions 0 .. count - 1 at falling frequencies, then cosines.

    >>> [[round(x, 2) for x in row] for row in sinusoids(2, 4).tolist()]
    [[0.0, 0.0, 1.0, 1.0], [0.84, 0.01, 0.54, 1.0]]
    """
    half = (width + 1) // 2
    places, rates = (torch.arange(size, device=device) for size in (count, half))
    angles = places[:, None] * 10000.0 ** (-rates / half)
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :width]


def lengths_of(states: Tensor, padding_mask: Tensor | None) -> Tensor:
    """Key-points of each sentence, (B,); ``states`` is (B, K, ...).

    >>> lengths_of(torch.zeros(2, 3, 1), torch.tensor([[False] * 3, [False, True, True]])).tolist()
    [3, 1]
    """
    if padding_mask is None:
        return torch.full((len(states),), states.shape[1], device=states.device)
    return (~padding_mask).sum(1)
