"""Which parts of the encoder are private to each language.

Conneau et al. (2020), "Emerging Cross-lingual Structure in Pretrained Language Models",
Sections 4.2-4.3. `--separate emb,1-3` is parsed once into a `SharingPlan`; every part of the
encoder that can be private is a `Slot`, and the encoder queries the slot, never a scheme's name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError

# The parts that can be named; `emb` stands for all three.
EMBEDDINGS = ("tokens", "positions", "softmax")


@dataclass(frozen=True)
class SharingPlan:
    """The private parts: names from `EMBEDDINGS`, and layer numbers from 1."""

    parts: frozenset[str] = frozenset()
    layers: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, text: str, num_layers: int, option: str = "--separate") -> "SharingPlan":
        """The plan that ``text``, the value of ``option``, describes for an encoder of
        ``num_layers``.

        >>> plan = SharingPlan.parse("emb,1-2,4", 4)
        >>> sorted(plan.layers), str(plan)
        ([1, 2, 4], 'tokens,positions,softmax,1-2,4')
        >>> str(SharingPlan.parse("", 4))
        ''
        """
        parts: set[str] = set()
        layers: set[int] = set()
        for item in names_in(text):
            if item == "emb":
                parts.update(EMBEDDINGS)
            elif item in EMBEDDINGS:
                parts.add(item)
            elif match := re.fullmatch(r"(\d+)(?:-(\d+))?", item):
                first, last = int(match[1]), int(match[2] or match[1])
                if not 1 <= first <= last <= num_layers:
                    raise UserError(
                        f"`{option}` layers must lie in 1-{num_layers} (the encoder's depth), "
                        f"got {item!r}"
                    )
                layers.update(range(first, last + 1))
            else:
                raise UserError(
                    f"`{option}` accepts 'emb', 'tokens', 'positions', 'softmax', layer numbers "
                    f"and ranges such as 1-3, separated by commas; got {item!r}"
                )
        return cls(frozenset(parts), frozenset(layers))

    def __str__(self) -> str:
        items = [name for name in EMBEDDINGS if name in self.parts]
        run: list[int] = []
        for layer in [*sorted(self.layers), None]:
            if run and layer != run[-1] + 1:
                items.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
                run = []
            if layer is not None:
                run.append(layer)
        return ",".join(items)

    def start(self, text: str, num_layers: int) -> "SharingPlan":
        """The private parts whose copies begin with equal weights: those that ``text`` names, or
        with ``alike`` all but the embeddings of words, which are other words in each language.

        >>> plan = SharingPlan.parse("emb,1-2", 4)
        >>> str(plan.start("alike", 4)), str(plan.start("positions,2", 4)), str(plan.start("", 4))
        ('positions,softmax,1-2', 'positions,2', '')
        """
        if text == "alike":
            return SharingPlan(self.parts - {"tokens"}, self.layers)
        found = SharingPlan.parse(text, num_layers, "--separate-start")
        if not (found.parts <= self.parts and found.layers <= self.layers):
            raise UserError(
                f"`--separate-start` must name parts that are private by `--separate` {str(self)!r}"
                f", got {text!r}"
            )
        return found

    @property
    def any(self) -> bool:
        """Whether anything is private, so that a batch must hold one language pair."""
        return bool(self.parts or self.layers)


class Slot(nn.Module):
    """One place in the encoder: a module for all languages, or one for each.

    Args:
        make: builds the module for a language, or for all of them if given ``None``.
        languages: the languages, where the slot is private.
        private: whether each language gets its own.
    """

    def __init__(
        self, make: Callable[[str | None], nn.Module], languages: Sequence[str], private: bool
    ):
        super().__init__()
        if private:
            self.private = nn.ModuleDict()
            for lang in languages:
                # Its setter refuses the names of its own methods, and "to" is Tongan.
                self.private._modules[lang] = make(lang)
        else:
            self.shared = make(None)

    @property
    def is_private(self) -> bool:
        return hasattr(self, "private")

    @torch.no_grad()
    def begin_alike(self) -> None:
        """Give languages the weights of the first one that has them in the same shape: those of
        words may have another in each."""
        begun: dict[tuple[str, torch.Size], torch.Tensor] = {}
        for module in self.private.values():
            for name, weight in module.named_parameters():
                weight.copy_(begun.setdefault((name, weight.shape), weight))

    def select(self, lang: str | None) -> nn.Module:
        """The module of ``lang`` (which may be ``None`` in a shared slot)."""
        return self.private[lang] if self.is_private else self.shared
