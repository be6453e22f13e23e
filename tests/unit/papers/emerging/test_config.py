import argparse
import dataclasses
from types import SimpleNamespace

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.separable_transformer import (
    SeparableTransformerConfig,
    separable_transformer_base,
)
from fairseq_xling.papers.emerging.sharing import (
    PRESETS,
    EmergingStructure,
    Options,
)
from fairseq_xling.papers.transfer.zero_shot import PRESETS as TASK_PRESETS
from fairseq_xling.workflow.options import load_config
from tests.unit.studies.paper_fields import TRAINING

STUDY = EmergingStructure()


@pytest.fixture
def load(tmp_path):
    """``load(**options)``: the settings of a command line, over text of all of the paper's
    languages."""
    for lang in ("en", "fr", "ru", "zh", "de"):
        for file in (f"mono/train.{lang}.txt", f"dictionary/en-{lang}.tsv"):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text("a\tb\n")
        for split in ("train", "valid", "test"):
            (tmp_path / "gold").mkdir(exist_ok=True)
            for file in ("nli.{}.{}.tsv", "tags.{}.{}.tsv", "{}.{}.conllu"):
                (tmp_path / "gold" / file.format(split, lang)).write_text("")

    def call(**options):
        given = {"data_text": str(tmp_path), "config": None, **options}
        return STUDY.check(load_config(Options, argparse.Namespace(**given), PRESETS))

    return call


def test_every_field_of_the_paper_preset(load, tmp_path):
    """Conneau et al. (2020), Sections 3.1 and 3.2; fields without a mark are not the paper's."""
    assert dataclasses.asdict(load(preset="paper")) == {
        **TRAINING,
        "preset": "paper",
        "data_text": str(tmp_path),
        "other_text": "",
        "languages": "en,fr,ru,zh",  # Table 1
        "dictionary": "",
        "settings": "",
        "separate_start": "",
        "seeds": "1,2,3",
        "updates": 416_667,  # 200 epochs of 200k in batches of 96; a process has its own
        "every": 2083,
        "words_limit": 5000,
        "test_splits": "test",
        "tasks": "nli,ner,parsing",
        "task_settings": "paper",
        "task_args": "",
    }


def test_the_commands_of_the_paper_preset(load, tmp_path):
    config = load(preset="paper", languages="en,fr", seeds="1", settings="A1")
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", config)}
    (train,) = steps["train-A1-en-fr-1"].commands
    given = " ".join(train)
    for words in (
        "--arch separable_transformer_base",
        "--sample-break-mode none --tokens-per-sample 256",
        "--batch-size 96 --distributed-world-size 8",
        "--optimizer adam",
        "--lr 0.0001 --lr-scheduler inverse_sqrt --warmup-updates 30000",
        "--max-update 416667 --epoch-updates 2083",
        "--best-checkpoint-metric mlm_en_ppl",
        "--encoder-layers 8",
        "--fp16",
    ):
        assert f" {words} " in f"{given} ", words
    assert "--max-tokens" not in train and "--update-freq" not in train and "--cpu" not in train
    for task, preset in (("nli", "xnli"), ("ner", "ner"), ("parsing", "parsing")):
        (command,) = steps[f"{task}-A1-en-fr-1"].commands
        assert command[command.index("--preset") + 1] == preset and preset in TASK_PRESETS
        assert "--lrs" not in command


def test_the_architecture_of_the_paper_preset():
    args = SimpleNamespace()
    separable_transformer_base(args)
    default = SeparableTransformerConfig()
    assert vars(args) == {
        "encoder_layers": 8,
        "encoder_embed_dim": 768,
        "encoder_ffn_embed_dim": 3072,
        "encoder_attention_heads": 12,
        "max_positions": 256,
    }
    assert (default.dropout, default.attention_dropout) == (0.1, 0.1)
    assert not default.language_embeddings


def test_an_epoch_is_counted_in_batches_or_in_sentences(load):
    literal = load(preset="paper", epoch_unit="batches")
    assert (literal.updates, literal.every) == (40_000_000, 200_000)
    one = load(preset="paper", processes="1", update_freq="8")
    assert (one.updates, one.every) == (416_667, 2083)
    cpu = load(
        epochs="3", epoch_size="100", batch_size="10", update_freq="2", epoch_unit="sentences"
    )
    assert (cpu.updates, cpu.every) == (30, 10)
    assert (load(updates="10", every="5").updates, load().every) == (10, 200)


def test_streams_are_an_option_and_sentences_the_default(load):
    assert load().training.rows == ["--sample-break-mode", "sentence", "--max-tokens", "2048"]
    assert load(block="64").training.rows == [
        *("--sample-break-mode", "none", "--tokens-per-sample", "64", "--max-tokens", "2048"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 2}, "`--epoch-unit sentences` needs `--batch-size`, got 0"),
        (
            {"epochs": 2, "batch_size": 96, "epoch_size": 90},
            "`--epoch-size` must be at least the 96 rows of a batch, got 90",
        ),
        ({"max_tokens": 0}, "`--batch-size` or `--max-tokens` must be above 0"),
        ({"block": 1}, "`--block` must be 0 or at least 2, got 1"),
        ({"processes": 2}, "`--processes` must be at most 1 on a CPU, got 2"),
        ({"updates": 5, "every": 2}, "`--updates` must be a multiple of `--every`, got 5 and 2"),
        ({"preset": "papr"}, "unknown `--preset` 'papr'; did you mean 'paper'"),
        ({"test_splits": "test,dev"}, "`--test-splits`: split must be test, also with a number, "),
        ({"test_splits": ""}, "`--test-splits` must name one or several different sets, got ''"),
        ({"test_splits": "test,test1"}, "`--test-splits` test1: "),
        ({"task_settings": "x"}, "`--task-settings`: unknown value 'x'; known: small, paper"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(load, options, message, tmp_path):
    with pytest.raises(UserError) as error:
        STUDY.steps(tmp_path, load(**options))
    assert message in str(error.value)


def test_all_fields_can_be_set_by_a_preset():
    from fairseq_xling.papers.emerging import mapped_layers, sharing, similarity

    for module in (sharing, similarity, mapped_layers):
        module.Options(**module.PRESETS["paper"])


def test_private_parts_may_begin_alike(load, tmp_path):
    config = load(settings="A1,A6,A10", separate_start="alike")
    given = [" ".join(row.train_options(config.separate_start)) for row in config.rows]
    assert "--separate" not in given[0]
    assert all(words.endswith("--separate-start alike") for words in given[1:])
    assert all("--separate-start" not in row.train_options() for row in config.rows)
