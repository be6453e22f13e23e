"""Small models with a TRILayer and all heads, sentences for them, and generators."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import pad_rows
from fairseq_xling.data.folder import CLS, PAD, SEP, SPECIALS
from fairseq_xling.generation.generator import NonAutoregressiveGenerator
from fairseq_xling.generation.orderings import orderings
from fairseq_xling.models.auxiliary import auxiliary_heads
from fairseq_xling.models.emissions import Reading
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.tri_encoder import TriTransformer
from fairseq_xling.models.trilayer import TriEncoder

LANG_IDS = {"en": 0, "de": 1}


@pytest.fixture
def make_model() -> Callable[..., TriTransformer]:
    """``make_model("order", separate="emb", seed=2)``: random weights, far apart."""

    def make(auxiliary="", separate="", seed=1, words=70, **changes) -> TriTransformer:
        torch.manual_seed(seed)
        sizes = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3} | changes
        shape = EncoderShape(4, 32, 64, 4, 24, language_embeddings=True, **sizes)
        plan = SharingPlan.parse(separate, 4)
        vocabulary = dict.fromkeys(LANG_IDS, SPECIALS + words)
        encoder = TriEncoder(shape, vocabulary, plan)
        heads = {name: auxiliary_heads[name](shape, 2) for name in auxiliary.split(",") if name}
        for head in heads.values():
            head.apply(encoder.initialise)
        return TriTransformer(encoder, {}, heads).eval()

    return make


@pytest.fixture
def make_sample() -> Callable[..., dict[str, Any]]:
    """A batch from source words, and from orders where given: ``make_sample([7, 8], [9])``."""

    def make(*words: Sequence[int], orders: Sequence[Sequence[int]] = ()) -> dict[str, Any]:
        rows = [np.array([CLS, *sentence, SEP]) for sentence in words]
        net_input = {
            "src_tokens": pad_rows(rows, PAD),
            "src_lengths": torch.tensor([len(row) for row in rows]),
        }
        if orders:
            net_input["order"] = pad_rows([np.array(order) for order in orders], -1)
            net_input["tgt_lengths"] = torch.tensor([len(order) for order in orders])
        return {"net_input": net_input}

    return make


@pytest.fixture
def make_generator() -> Callable[..., NonAutoregressiveGenerator]:
    """``make_generator(models, "predicted", length_candidates=3, align=True)``."""

    def make(models, ordering="identity", pair=("en", "de"), length_candidates=1, **options):
        cfg = SimpleNamespace(length_candidates=length_candidates, order_beam=10)
        made = orderings[ordering](cfg, models)
        reading = Reading(**{x: options.pop(x) for x in list(options) if hasattr(Reading, x)})
        emission = models[0].emission
        return NonAutoregressiveGenerator(
            made, emission, pair, LANG_IDS, reading=reading, **options
        )

    return make
