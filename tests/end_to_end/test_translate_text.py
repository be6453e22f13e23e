"""`fairseq-xling translate` and `export`, and `Translator`, on a model that knows every word."""

import gzip
import math
import shutil
from types import SimpleNamespace

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.generation.translator import Translator
from fairseq_xling.interop.encoder import Encoder
from tests.end_to_end.engine import BIN, launch

LINES = ["dog cat", "", "sun zebra tree", "one", "red blue green one two three runs sees"]
OTHERS = ["xdog xcat", "", "xsun <unk> xtree", "xone", " ".join(f"x{w}" for w in LINES[4].split())]


@pytest.fixture(scope="module")
def study(relabelled):
    return relabelled


@pytest.fixture(scope="module")
def exported(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "model"
    assert main(["export", str(study.checkpoint), "--output", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def translator(study):
    return Translator.load(study.checkpoint, ordering="identity")


def translate(*arguments, typed=None):
    """As a process; both streams."""
    return launch([BIN / "fairseq-xling", "translate", *arguments], typed=typed)


def test_lines_come_out_translated_and_in_their_order(study):
    typed = "".join(f"{line}\n" for line in LINES)
    options = ("--ordering", "identity", "--buffer", "2")
    done = translate(study.checkpoint, *options, typed=typed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == OTHERS
    assert "5 lines" in done.stderr


@pytest.mark.parametrize("options", [{}, {"int8": True}, {"precision": "bf16"}])
def test_neither_precision_nor_batches_nor_the_buffer_change_them(study, options):
    translator = Translator.load(study.checkpoint, ordering="identity", **options)
    for batch_tokens, buffer in ((4096, 100), (16, 100), (4096, 1)):
        found = translator.hypotheses(LINES, batch_tokens=batch_tokens, buffer=buffer)
        assert [row[0].text for row in found] == OTHERS
    assert translator.translate(LINES) == OTHERS


def test_a_shortlist_has_the_words_that_are_needed(study, tmp_path, capsys):
    path = tmp_path / "list.safetensors"
    call = ["shortlist", study.data, "--from", "en", "--to", "xx", "--output", path]
    assert main([*map(str, call), "--linked", "2", "--frequent", "1"]) == 0
    assert "up to 2 tokens for each of " in capsys.readouterr().out
    for options in ({}, {"int8": True}, {"precision": "bf16"}):
        options |= {"ordering": "identity", "shortlist": str(path)}
        # `zebra` is in neither vocabulary, and `<unk>` can always be written.
        assert Translator.load(study.checkpoint, **options).translate(LINES) == OTHERS
    # An exported folder may have it, and translates with it then.
    call = ["export", study.checkpoint, "--output", tmp_path / "with", "--shortlist", path]
    assert main([*map(str, call)]) == 0
    own = Translator.load(tmp_path / "with", ordering="identity")
    assert own.translate(LINES) == OTHERS
    assert own.task.build_generator(own.models, SimpleNamespace()).candidate_tokens is not None


def test_options_of_its_training_do_not_count(study, tmp_path):
    state = load_plain(study.checkpoint)
    state["cfg"]["task"] |= {"blank_penalty": 0.0, "keep_repeats": True, "length_candidates": 9}
    torch.save(state, tmp_path / "older.pt")
    options = {"data": study.data, "ordering": "identity"}
    assert Translator.load(tmp_path / "older.pt", **options).translate(LINES) == OTHERS


def test_hypotheses_are_written_with_scores_pieces_and_links(study, tmp_path):
    text, output = tmp_path / "text.gz", tmp_path / "found"
    text.write_bytes(gzip.compress(b"dog cat\n\n"))
    call = ["translate", study.checkpoint, "--input", text, "--output", output, "--nbest", 2]
    assert main([*map(str, call), "--alignment", "--ordering", "predicted"]) == 0
    rows = [line.split(" ||| ") for line in output.read_text().splitlines()]
    assert [row[0] for row in rows] == ["0", "0", "1", "1"]
    assert float(rows[0][2]) >= float(rows[1][2])
    assert rows[0][3] == "▁dog ▁cat"
    for row in rows[:2]:
        pieces, links = row[4].split(), [link.split("-") for link in row[5].split()]
        assert row[1] == " ".join(pieces).replace("▁", "")
        assert all(int(i) < 2 and int(j) < len(pieces) for i, j in links)


def test_scores_are_computed_where_they_are_read_or_compared(study):
    translator = Translator.load(study.checkpoint, ordering="identity")
    scored, unscored = (
        [row[0] for row in translator.hypotheses(LINES, scores=scores)] for scores in (True, False)
    )
    assert [one.text for one in scored] == [one.text for one in unscored] == OTHERS
    assert not any(math.isnan(one.score) for one in scored)
    assert all(math.isnan(one.score) for one in unscored if one.text)
    several = Translator.load(study.checkpoint, ordering="predicted", length_candidates=3)
    rows = [[*several.hypotheses(LINES, nbest=2, scores=scores)] for scores in (True, False)]
    assert rows[0] == rows[1]  # which are compared


def test_the_ordering_is_that_of_the_models_head(study):
    translator = Translator.load(study.checkpoint)
    assert translator.task.cfg.ordering == "predicted"
    assert len(next(translator.hypotheses(["dog"], nbest=2))) == 2
    with pytest.raises(UserError) as error:
        next(translator.hypotheses(["dog"], nbest=3))
    assert str(error.value).startswith("`--nbest` must be at most 2, the number of candidates")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.translate("abc"), "`lines` must be a list of strings, got one string; put"),
        (lambda t: t.translate(["dog", b"a"]), "`lines` must be strings, got b'a' at index 1"),
        (lambda t: t.translate([float("nan")]), "`lines` must be strings, got nan at index 0"),
        (lambda t: t.translate(["a"], batch_tokens=0), "`batch_tokens` must be a whole number of"),
        (lambda t: t.hypotheses(["a"], nbest=0), "`nbest` must be a whole number of at least 1"),
        (lambda t: t.hypotheses(["a"], buffer=0), "`buffer` must be a whole number of at least 1"),
        (lambda t: t.hypotheses(["a"], alignment="no"), "`alignment` must be True or False, got"),
    ],
)
def test_arguments_of_another_kind_are_named(translator, call, message):
    with pytest.raises(UserError) as error:
        call(translator)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length_candidates": "a"}, "`length_candidates` must be a whole number, got 'a'"),
        ({"blank_penalty": "a"}, "`blank_penalty` must be a number, got 'a'"),
        ({"blank_penalty": float("nan")}, "`blank_penalty` must be finite, got nan"),
        ({"word_bonus": 1e30}, "`word_bonus` must lie in [-20, 20], got 1e+30"),
        ({"ordering": None}, "`ordering` must be a string, got None"),
        ({"cpu": "x"}, "`cpu` must be True or False, got 'x'"),
        ({"too_long": "x"}, "unknown `too_long` 'x'; known: truncate, refuse"),
        ({"beam": 3}, "there is no option `beam` of translation"),
        ({"data": 3}, "`data` must be a path, got 3"),
        ({"precision": 3}, "unknown `precision` 3; known: auto, fp32, bf16, fp16"),
    ],
)
def test_options_of_another_kind_are_named(study, options, message):
    with pytest.raises(UserError) as error:
        Translator.load(study.checkpoint, **options)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize("model", [None, 3])
def test_a_model_is_a_path(model):
    with pytest.raises(UserError, match=f"^`model` must be a path, got {model}$"):
        Translator.load(model)
    with pytest.raises(UserError, match=f"^`checkpoint` must be a path, got {model}$"):
        Encoder.load(model)


def test_lines_are_read_from_a_stream_as_they_are_needed(translator):
    def lines():
        yield from ["dog", "cat", "sun"]
        yield 3
        raise AssertionError("the line after the one that is refused")

    found = translator.hypotheses(lines(), buffer=2)
    assert [next(found)[0].text for _ in range(2)] == ["xdog", "xcat"]
    with pytest.raises(UserError, match="`lines` must be strings, got 3 at index 3"):
        next(found)


def test_an_exported_folder_translates_without_the_data_folder(study, exported, tmp_path):
    moved = shutil.copytree(exported, tmp_path / "elsewhere")
    assert Translator.load(moved, ordering="identity").translate(LINES) == OTHERS
    there = {path.name for path in moved.iterdir()}
    assert there == {"model.pt", "meta.json", "dict.txt", "sentencepiece.model"}
    assert (moved / "model.pt").stat().st_size < study.checkpoint.stat().st_size / 2
    assert str(study.data.parent).encode() not in (moved / "model.pt").read_bytes()
    assert load_plain(moved / "model.pt")["last_optimizer_state"] is None


def test_fairseqs_programs_and_encoders_read_the_folder(exported):
    encoder = Encoder.load(exported)
    assert encoder.languages == ["en", "xx"]
    done = launch(
        [
            *(BIN / "fairseq-interactive", exported, "--path", exported / "model.pt", "--cpu"),
            *("--task", "cdlm", "--user-dir", USER_DIR, "--directions", "en-xx"),
        ],
        typed="dog cat\n",
    )
    assert "D-0" in done.stdout and "xdog xcat" in done.stdout, done.stderr


MISTAKES = [
    (("--input", "none"), "`--input` none: no such file"),
    (("--input", "text", "--output", "text"), "`--output` must be another file than `--input`"),
    (("--to", "fr"), "unknown language in `--source-lang` or `--target-lang` 'fr'"),
    (("--ordering", "sideways"), "unknown `--ordering` 'sideways'"),
    (("--int8", "--precision", "bf16"), "`--int8` and bf16 exclude each other"),
    (("--precision", "fp16"), "`--precision fp16` needs `--device cuda`"),
    (("--nbest", "9"), "`--nbest` must be at most 2"),
    (("--shortlist", "text"), "text: not a safetensors file, or damaged"),
    (("--input", "latin"), "latin:2: not UTF-8"),
    (("--data", "text"), "text: is a file; name the folder that `fairseq-xling prepare` makes"),
]


@pytest.mark.parametrize(("options", "line"), MISTAKES, ids=[line for _, line in MISTAKES])
def test_mistakes_are_one_line_and_write_nothing(
    study, tmp_path, monkeypatch, capsys, options, line
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("dog\n")
    (tmp_path / "latin").write_bytes(b"dog\n\xff\n")
    given = options if "--input" in options else (*options, "--input", "text")
    given = given if "--output" in given else (*given, "--output", "found")
    assert main(["translate", str(study.checkpoint), *given]) == 1
    found = capsys.readouterr().err.strip().splitlines()[-1]
    assert found.startswith("fairseq-xling: error: ") and line in found
    assert {path.name for path in tmp_path.iterdir()} == {"text", "latin"}


def test_a_folder_that_is_there_is_not_overwritten(study, exported, capsys):
    assert main(["export", str(study.checkpoint), "--output", str(exported)]) == 1
    assert "`--output` must be a new folder" in capsys.readouterr().err
