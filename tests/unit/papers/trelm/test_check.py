import argparse

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.check import check_config, read_config
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.runs.options import add_options


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.pt").touch()
    return tmp_path


def test_settings_that_hang_together_pass(here, config):
    check_config(config())
    check_config(config(auxiliary="", orderings="identity,oracle"))
    check_config(config(trilayer=False, transfer_objectives="tlm,mlm"))
    check_config(config(batch_size=0, max_tokens=100, commonality_steps=0, languages="en,de,id"))


@pytest.mark.parametrize(
    ("options", "run", "study"),
    [
        ("", 700, 0),
        ("--translator-steps 300", 300, 300),
        ("--translator-steps 0", 0, 0),
        ("--transfer-steps 0", 0, 0),
        ("--transfer-objectives tlm,mlm", 0, 0),
        ("--translator-steps 0 --preset trelm", 0, 0),
        ("--preset trelm", 0, 0),
    ],
)
def test_a_run_trains_a_translator_as_long_as_a_direction_and_a_study_none(
    here, options, run, study
):
    parser = argparse.ArgumentParser()
    add_options(parser, TrelmConfig)
    call = f"--source source.pt --text text --transfer-steps 700 {options}".split()
    found = [read_config(parser.parse_args(call), translates) for translates in (True, False)]
    assert [config.translator_steps for config in found] == [run, study]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": ""}, "`--source` must name a source encoder (a folder or a checkpoint)"),
        ({"source": "none.pt"}, "`--source` none.pt: no such source encoder"),
        (
            {"languages": "en"},
            "`--languages` must name the source's language and at least one more, got 'en'",
        ),
        ({"languages": "en,en"}, "`--languages`: language 'en' is named twice in 'en,en'"),
        ({"seeds": "1,1"}, "`--seeds` must be different and not negative, got '1,1'"),
        ({"map_seeds": "x"}, "`--map-seeds` must be whole numbers, got 'x'"),
        (
            {"translate_split": "test,dev"},
            "`--translate-split`: split must be train, valid or test, the last two also with a "
            "number, as in test1, got 'dev'",
        ),
        (
            {"translate_split": "test1,test1"},
            "`--translate-split` must name one or several different splits, got 'test1,test1'",
        ),
        ({"language_args": "'"}, '`--language-args`: No closing quotation, got "\'"'),
        (
            {"data": "data-bin"},
            "`--data` is a ready folder; it cannot be used with `--text` or other text",
        ),
        ({"text": ""}, "`--text` must name a folder of text (or give `--mono` and `--parallel`)"),
        (
            {"vocab_type": "wordpieces"},
            "`--vocab-type`: unknown vocabulary type 'wordpieces'; did you mean 'wordpiece'",
        ),
        (
            {"aligner": "fastalign"},
            "`--aligner`: unknown aligner 'fastalign'; did you mean 'fast_align'",
        ),
        ({"auxiliary": ""}, "`--orderings` predicted needs `--auxiliary order`, got ''"),
        ({"orderings": "orakle"}, "unknown `--ordering` 'orakle'; did you mean 'oracle'"),
        ({"segment": "de"}, "`--segment` must look like zh=char, got 'de'"),
        (
            {"keep_vocabulary": True},
            "`--keep-vocabulary` needs `--source-data`, the data folder of the source checkpoint "
            "source.pt",
        ),
        (
            {"keep_vocabulary": True, "source_data": "first", "vocab": "union"},
            "`--vocab` must be joint with `--keep-vocabulary`, got 'union'",
        ),
        (
            {"keep_vocabulary": True, "source_data": "first", "vectors": "a.vec"},
            "`--vectors` are those of a new vocabulary, and `--keep-vocabulary` has none, got "
            "'a.vec'",
        ),
        ({"slot_layers": 1}, "`--slot-layers` is a translator's: give `--translator-steps`"),
        ({"ngram": "text"}, "`--ngram` needs a `--slot-beam` above 1, got text"),
        (
            {"ngram": "de.arpa", "slot_beam": 5, "translator_steps": 300},
            "`--ngram` de.arpa: no such file",
        ),
        ({"batch_size": 0}, "`--batch-size` or `--max-tokens` must be above 0"),
        (
            {"commonality_steps": 0, "transfer_steps": 0, "language_steps": 0},
            "nothing to train: `--commonality-steps` and the others are all 0",
        ),
        (
            {"warmup": 50, "transfer_steps": 50},
            "`--warmup` must be less than `--transfer-steps` 50, got 50",
        ),
        (
            {"trilayer": False},
            "`--transfer-objectives` cdlm needs a TRILayer; without one use tlm,mlm, got "
            "'cdlm,mlm'",
        ),
        ({"embeddings": "link"}, "unknown `--embeddings` 'link'; did you mean 'linked'"),
        (
            {"embeddings": "linked"},
            "`--mapping` must be none with `--embeddings linked`, whose vectors are already "
            "in the source's embedding space, got 'adversarial'",
        ),
        (
            {"language_objectives": "mlmm"},
            "`--language-objectives`: unknown objective 'mlmm'; did you mean 'mlm'",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_one_line(here, config, changes, message):
    with pytest.raises(UserError) as error:
        check_config(config(**changes))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
