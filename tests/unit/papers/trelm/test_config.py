import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.trelm.config import PRESETS, TrelmConfig

# What the paper says, or its release; those without a mark are neither's.
SNAPSHOT = {
    **dataclasses.asdict(TrelmConfig()),
    "vocab": "joint",  # A.5
    "vocab_type": "wordpiece",  # A.5
    "vocab_size": 80_000,  # A.5, English and Chinese
    "aligner": "fast_align",  # A.5
    "prepare_args": "--alphabet 30000 --vocab-sample 250",  # A.5: 30K characters
    "commonality_limit": 1_000_000,  # A.5: 1M of each language
    "parallel_limit": 1_000_000,  # A.5
    "language_limit": 2_000_000,  # A.5
    "embeddings": "fasttext",  # A.5
    "embed_languages": "both",  # 3.2: the whole vocabulary
    "copy_shared": False,  # 3.2
    "embed_epochs": 10,  # release
    "embed_args": "--min-n 3 --max-n 6 --buckets 2000000",  # fastText's own
    "mapping": "adversarial",  # A.1
    "map_refine": 5,  # A.1
    "trilayer": True,  # 3.1
    "max_positions": 512,  # A.5
    "auxiliary": "",  # no head whose loss reaches the encoder
    "commonality_steps": 20_000,  # A.5
    "commonality_lr": 3e-5,  # A.5
    "commonality_objectives": "mlm",  # 3.2
    "transfer_steps": 20_000,  # A.5
    "transfer_lr": 3e-5,  # A.5
    "transfer_objectives": "cdlm,mlm",  # 3.2
    "language_steps": 80_000,  # A.5
    "language_lr": 2e-5,  # A.5
    "language_objectives": "mlm",  # 3.2
    "batch_size": 128,  # A.5
    "warmup": 500,  # release
    "adam_betas": "0.9,0.999",  # A.5
    "adam_eps": 1e-6,  # release
    "weight_decay": 0.01,  # A.5
    "clip": 5.0,  # release
    "every": 2000,
    "device": "cuda",
    "translator_steps": 0,
    "orderings": "identity,oracle",  # Table 6
}


def test_every_field_of_the_papers_presets():
    """TreLM, Section 3.2, Appendices A.1 and A.5, for Chinese; Indonesian has less to spell."""
    assert dataclasses.asdict(TrelmConfig(**PRESETS["trelm"])) == SNAPSHOT
    assert dataclasses.asdict(TrelmConfig(**PRESETS["trelm-id"])) == {
        **SNAPSHOT,
        "vocab_size": 50_000,
        "prepare_args": "--alphabet 1000 --vocab-sample 250",
    }
    assert list(PRESETS) == ["trelm", "trelm-id"]


def test_the_first_language_is_the_sources_and_the_others_are_targets(config):
    chosen = config(languages="en,de,zh", segment="zh=char,en=space,de=space", seeds="3,1")
    assert (chosen.source_lang, chosen.targets, chosen.seed_list) == ("en", ["de", "zh"], [3, 1])
    assert chosen.segment_of("zh") == ["zh=char", "en=space"]
    assert chosen.segment_of("de") == ["en=space", "de=space"]


def test_options_in_one_text_are_split_as_a_shell_would(config):
    assert config(train_args="--dropout 0 --x 'a b'").words("train_args") == (
        *("--dropout", "0", "--x", "a b"),
    )
    with pytest.raises(UserError, match="`--train-args`: No closing quotation, got"):
        config(train_args="--x 'a").words("train_args")
