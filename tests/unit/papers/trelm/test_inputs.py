"""Settings that do not go together, and what there is before anything runs."""

import argparse
import re

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.config import RunConfig, TrelmConfig
from fairseq_xling.papers.trelm.inputs import (
    check_config,
    read_config,
    read_run,
    read_shape,
    summarize_inputs,
)
from fairseq_xling.workflow.options import add_options
from tests.tiny_sources import write_folder


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


@pytest.fixture
def own(here):
    """Two files of a person's own, line by line, and the call that names them."""
    for lang, count in (("gl", 400), ("ca", 400), ("more", 9000)):
        (here / lang).write_text("".join(f"{lang} {n}\n" for n in range(count)))
    return "--source source.pt --languages gl,ca --transfer-steps 700".split()


def read(words):
    parser = argparse.ArgumentParser()
    add_options(parser, RunConfig)
    return read_run(parser.parse_args(words))


@pytest.mark.parametrize(
    ("options", "held", "embeddings", "mapping", "why"),
    [
        ("--parallel gl-ca=gl,ca", 20, "linked", "none", "there is parallel text"),
        ("--parallel train.gl-ca=gl,ca --held-out 7", 7, "linked", "none", "parallel text"),
        (
            *("--transfer-steps 0 --mono gl=gl --mono ca=more", 20),
            *("skip-gram", "adversarial", "wants some 100,000"),
        ),
        (
            *("--transfer-steps 0 --mono gl=more --mono ca=more", 450),
            *("skip-gram", "adversarial", "no parallel training"),
        ),
        ("--parallel gl-ca=gl,ca --mono valid.gl=gl", 0, "linked", "none", "parallel text"),
        ("--parallel gl-ca=gl,ca --embeddings random", 20, "random", "none", "of random embed"),
        ("--parallel gl-ca=gl,ca --mapping identical", 20, "skip-gram", "identical", "twentieth"),
        ("--parallel ca-gl=ca,gl --embeddings fasttext", 20, "fasttext", "adversarial", "fasttext"),
    ],
)
def test_what_is_not_set_follows_from_the_text(own, options, held, embeddings, mapping, why):
    config, line = read([*own, *options.split()])
    assert (config.held_out, config.embeddings, config.mapping) == (held, embeddings, mapping)
    assert line.startswith("chosen by the text: --") and why in line
    assert ("--held-out" in line) is (held > 7)
    if held:
        inputs, splits = summarize_inputs(config, "ca", SHAPE), {"train", "valid", "test"}
        assert inputs.mono == {(split, lang) for split in splits for lang in ("gl", "ca")}
        assert {*inputs.parallel} == (splits if "parallel" in options else set())


def test_what_is_set_is_kept_without_a_word(own):
    options = "--parallel gl-ca=gl,ca --embeddings linked --mapping none --held-out 9"
    steps = "--commonality-steps 500 --language-steps 0"
    config, line = read([*own, *f"{options} {steps}".split()])
    assert (config.embeddings, config.mapping, config.held_out, line) == ("linked", "none", 9, "")


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ("--parallel gl-ca=gl,ca", (400, 400, 400)),  # twice the warmup
        ("--parallel gl-ca=gl,ca --batch-size 8", (1000, 1000, 1000)),
        ("--parallel gl-ca=gl,ca --batch-size 4 --update-freq 2", (1000, 1000, 1000)),
        ("--parallel gl-ca=gl,ca --batch-size 0 --max-tokens 240", (1000, 1000, 1000)),
        ("--parallel gl-ca=gl,ca --batch-size 2", (2000, 4000, 4000)),
        (
            *("--mono train.gl=more --mono train.ca=more --parallel train.gl-ca=gl,ca",),
            *((1406, 400, 1406),),
        ),
        ("--parallel gl-ca=gl,ca --transfer-steps 9 --warmup 5", (62, 9, 62)),
        ("--parallel gl-ca=gl,ca --warmup 1500", (2000, 3000, 3000)),
        ("--data data", (2000, 4000, 4000)),
    ],
)
def test_the_steps_that_are_not_set_are_passes_over_the_text(own, tiny_corpus, options, steps):
    words = [word for word in own if word not in ("--transfer-steps", "700")]
    if "--data" in options:
        words[words.index("gl,ca")] = "en,de"
        options = f"--data {tiny_corpus.path}"
    config, _ = read([*words, *options.split()])
    assert (config.commonality_steps, config.transfer_steps, config.language_steps) == steps


def test_a_file_where_a_folder_of_text_is_wanted_is_told_in_words_that_were_typed(own):
    with pytest.raises(UserError, match=r"^`--text` must be a folder of text, got gl; name files"):
        read([*own, "--text", "gl"])


KEPT = {"keep_vocabulary": True, "source_data": "first"}
STEPS = ("commonality_steps", "transfer_steps", "language_steps")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"languages": "en"}, "`--languages` must name the source's language and at least one"),
        ({"languages": "en,en"}, "`--languages`: language 'en' is named twice in 'en,en'"),
        ({"adam_betas": "1"}, "`--adam-betas` must be two numbers in [0, 1), e.g. 0.9,0.999"),
        ({"map_seeds": "x"}, "`--map-seeds` must be whole numbers, got 'x'"),
        ({"translate_split": "test,dev"}, "`--translate-split`: split must be train, valid or"),
        ({"translate_split": "test1,test1"}, "`--translate-split` must name one or several"),
        ({"language_args": "'"}, '`--language-args`: No closing quotation, got "\'"'),
        ({"data": "data-bin"}, "`--data` is a ready folder; it cannot be used with `--text` or"),
        ({"text": ""}, "`--text` must name a folder of text (or give `--mono` and `--parallel`)"),
        ({"vocab_type": "wordpieces"}, "`--vocab-type`: unknown vocabulary type 'wordpieces'"),
        ({"aligner": "fastalign"}, "`--aligner`: unknown aligner 'fastalign'; did you mean"),
        ({"auxiliary": ""}, "`--orderings` predicted needs `--auxiliary order`, got ''"),
        ({"orderings": "orakle"}, "unknown `--ordering` 'orakle'; did you mean 'oracle'"),
        ({"segment": "de"}, "`--segment` must look like zh=char, got 'de'"),
        ({"keep_vocabulary": True}, "`--keep-vocabulary` needs `--source-data`, the data folder"),
        ({**KEPT, "vocab": "union"}, "`--vocab` must be joint with `--keep-vocabulary`, got 'u"),
        ({**KEPT, "vectors": "a.vec"}, "`--vectors` are those of a new vocabulary, and `--keep-v"),
        ({"slot_layers": 1}, "`--slot-layers` is a translator's: give `--translator-steps`"),
        ({"batch_size": 0}, "`--batch-size` or `--max-tokens` must be above 0"),
        (dict.fromkeys(STEPS, 0), "nothing to train: `--commonality-steps` and the others are al"),
        ({"warmup": 50, "transfer_steps": 50}, "`--warmup` must be less than `--transfer-steps"),
        ({"trilayer": False}, "`--transfer-objectives` cdlm needs a TRILayer; without one use"),
        ({"embeddings": "link"}, "unknown `--embeddings` 'link'; did you mean 'linked'"),
        ({"embeddings": "linked"}, "`--mapping` must be none with `--embeddings linked`, whose"),
        ({"language_objectives": "mlmm"}, "`--language-objectives`: unknown objective 'mlmm'"),
    ],
)
def test_settings_that_do_not_go_together_are_one_line(here, config, changes, message):
    with pytest.raises(UserError) as error:
        check_config(config(**changes))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


SHAPE = EncoderShape(4, 16, 32, 2, 64)


@pytest.fixture
def text(tmp_path):
    """``text("mono/train.en", ...)``: a folder with these files, as `synthesize` names them."""

    def make(*names):
        for name in names:
            path = tmp_path / "text" / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("a line\n")
        return str(tmp_path / "text")

    return make


MONO = [f"mono/{split}.{lang}" for split in ("train", "valid") for lang in ("en", "de")]
PAIRS = [f"parallel/train.en-de.{lang}" for lang in ("en", "de")]


def test_the_facts_of_text_files(text, config, tmp_path):
    found = summarize_inputs(config(text=text(*MONO, *PAIRS)), "de", SHAPE)
    assert found.mono == {(s, lang) for s in ("train", "valid") for lang in ("en", "de")}
    assert found.parallel == {"train": [tmp_path / f"text/{name}.txt" for name in PAIRS]}
    assert found.dictionaries == (("en", "de"),)
    assert found.validates(["en", "de"], mono_text=True, pairs=False)
    assert not found.validates(["en", "de"], mono_text=False, pairs=True)
    separate = config(text=text(), vocab="separate", separate="tokens,softmax")
    assert summarize_inputs(separate, "de", SHAPE).dictionaries == (("en",), ("de",))


def test_only_the_files_of_the_pair_count(text, config):
    folder = text(*MONO, *PAIRS, "mono/train.id", "mono/valid.id")
    mono = (f"test.id={folder}/mono/train.id.txt", f"test.de={folder}/mono/train.de.txt")
    found = summarize_inputs(config(text=folder, languages="en,de,id", mono=mono), "de", SHAPE)
    assert ("test", "de") in found.mono
    assert not any(lang == "id" for _, lang in found.mono)


def test_a_split_to_translate_that_is_named_must_be_there(text, config):
    folder = text(*MONO, *PAIRS, *(f"parallel/test1.en-de.{lang}" for lang in ("en", "de")))
    assert summarize_inputs(config(text=folder), "de", SHAPE).parallel.keys() == {"train", "test1"}
    summarize_inputs(config(text=folder, translate_split="test1"), "de", SHAPE)
    message = "`--translate-split` test2: .* of en-de in it; .*: train, test1; did you mean 'test1'"
    with pytest.raises(UserError, match=message):
        summarize_inputs(config(text=folder, translate_split="test1,test2"), "de", SHAPE)


def test_the_facts_of_a_ready_data_folder(tiny_corpus, config):
    found = summarize_inputs(config(text="", data=str(tiny_corpus.path)), "de", SHAPE)
    assert ("test", "de") in found.mono
    assert found.parallel == {"train": (), "valid": (), "test": ()}
    assert found.dictionaries == (("en", "de"),)


@pytest.mark.parametrize(
    ("files", "changes", "message"),
    [
        ([*MONO[1:], *PAIRS], {}, "no monolingual training text of 'en': give `--mono train.en="),
        ([*MONO, *PAIRS], {"bpw_split": "test"}, "`--bpw-split` test: there is no monolingual"),
        (
            MONO,
            {"embeddings": "linked", "mapping": "none", "transfer_steps": 0},
            "`--embeddings linked` needs parallel training text of en-de; give `--parallel",
        ),
        (MONO, {}, "the transfer phases need parallel training text of en-de; give `--parallel"),
        ([*MONO, *PAIRS], {"checkpoint": "best"}, "`--checkpoint best` needs validation text of"),
        ([*MONO, *PAIRS], {"vocab": "separate"}, "a vocabulary for each language needs `--sep"),
        ([*MONO, *PAIRS], {"mono": ("train.de=none.txt",)}, "none.txt: no such file"),
    ],
)
def test_text_that_is_missing_is_one_line(text, config, files, changes, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        summarize_inputs(config(text=text(*files), **changes), "de", SHAPE)


def test_the_sizes_are_those_of_the_source(tmp_path, config):
    write_folder(tmp_path / "bert", "bert")
    shape = read_shape(config(source=str(tmp_path / "bert")))
    assert (shape.layers, shape.dim, shape.max_positions) == (2, 16, 20)
    with pytest.raises(UserError, match="`--max-positions` must be at most the source's 20"):
        read_shape(config(source=str(tmp_path / "bert"), max_positions=64))
    write_folder(tmp_path / "odd", "bert", num_hidden_layers=3)
    with pytest.raises(UserError, match=r"odd: must have an even number of layers, .*, got 3"):
        read_shape(config(source=str(tmp_path / "odd")))
