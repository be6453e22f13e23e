"""Numbers of parameters of the papers' models, counted on the meta device: nothing is allocated."""

import argparse

import pytest
import torch

from fairseq_xling.engine.prepare import prepare_engine


@pytest.fixture
def count(make_task):
    """``count("tri_bert_base", 80_000, no_trilayer=True)``: parameters, tied ones once."""
    prepare_engine()
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    import fairseq_xling.plugin  # noqa: F401

    def make(arch, vocabulary, **changes):
        kind = ARCH_MODEL_REGISTRY[arch]
        cfg = argparse.Namespace(**changes)
        ARCH_CONFIG_REGISTRY[arch](cfg)
        config = kind_config(arch)(**vars(cfg))
        with torch.device("meta"):
            model = kind.build_model(config, make_task(en=vocabulary, de=vocabulary))
        return sum(parameter.numel() for parameter in model.parameters())

    return make


def kind_config(arch):
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY

    return MODEL_DATACLASS_REGISTRY[ARCH_MODEL_NAME_REGISTRY[arch]]


def by_hand(layers, width, rows, segments, languages, vocabulary, trilayer=True):
    """BERT's parts: tables, LayerNorms, 12 d^2 + 13 d a layer, a head tied but for dense, norm and
    bias."""
    layer = 12 * width**2 + 13 * width
    tables = (vocabulary + rows + segments + languages) * width + 2 * width
    head = width**2 + 3 * width + vocabulary
    return tables + (layers + trilayer) * layer + head


@pytest.mark.parametrize(
    ("arch", "changes", "size", "expected"),
    [
        ("tri_bert_base", {}, (12, 768, 512, 2), 154_652_288),
        ("tri_bert_base", {"no_trilayer": True}, (12, 768, 512, 2), 147_564_416),
        ("tri_bert_large", {}, (24, 1024, 512, 2), 398_487_680),
    ],
)
def test_the_presets_have_the_sizes_of_the_paper_with_80_000_pieces(
    count, arch, changes, size, expected
):
    found = count(arch, 80_000, **changes)
    assert found == by_hand(*size, 2, 80_000, trilayer=not changes)
    assert found == expected


def test_the_small_model_from_scratch_has_14_to_15_million_parameters_with_20_000_pieces(count):
    found = count("separable_transformer_small", 20_000)
    assert found == by_hand(12, 256, 128, 0, 0, 20_000, trilayer=False)
    assert 14_000_000 <= found <= 15_000_000


def test_a_family_has_embeddings_of_languages_unless_they_are_refused(count):
    """SPEC G6: the released code of BERT and ELECTRA passes no language; here all families do."""
    without = count("tri_bert_base", 1000, no_language_embeddings=True)
    assert count("tri_bert_base", 1000) - without == 2 * 768
