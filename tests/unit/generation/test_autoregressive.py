"""Autoregressive models that teach or correct a translator."""

import pytest
import torch

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import UserError
from fairseq_xling.generation.autoregressive import check_autoregressive, load_autoregressive
from tests.autoregressive_model import save_autoregressive

PAIR = ("en", "de")


@pytest.fixture
def changed(tiny_corpus, tmp_path):
    """A checkpoint whose contents a function has changed."""

    def write(change):
        path = tmp_path / "changed.pt"
        save_autoregressive(path, tiny_corpus.path)
        state = load_plain(path)
        change(state)
        torch.save(state, path)
        return path

    return write


def test_what_was_saved_is_loaded(tiny_corpus, tmp_path):
    saved = save_autoregressive(tmp_path / "model.pt", tiny_corpus.path).state_dict()
    found = load_autoregressive(tmp_path / "model.pt", tiny_corpus.path, PAIR, "--rescore")
    assert not found.training
    assert all(torch.equal(value, saved[name]) for name, value in found.state_dict().items())


def test_a_model_of_another_direction_or_task_is_refused(tiny_corpus, tmp_path, changed):
    save_autoregressive(tmp_path / "model.pt", tiny_corpus.path)
    with pytest.raises(UserError, match=r"^`--teacher` .*: must translate de-en, got en-de$"):
        check_autoregressive(tmp_path / "model.pt", tiny_corpus.path, PAIR[::-1], "--teacher")
    path = changed(lambda state: state["cfg"]["task"].update(_name="cdlm"))
    with pytest.raises(UserError, match=r"must be a model of `--task translation`, got 'cdlm'$"):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")


def test_a_model_of_another_vocabulary_is_refused(tiny_corpus, changed):
    name = "decoder.embed_tokens.weight"
    path = changed(lambda state: state["model"].update({name: state["model"][name][1:]}))
    size = DataFolder(tiny_corpus.path).vocab_sizes["de"]
    rule = rf"must have the vocabulary of .*, {size:,} words of 'de', got {size - 1:,}$"
    with pytest.raises(UserError, match=rule):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")


@pytest.mark.parametrize("place", ["where it was trained", "beside it"])
def test_a_model_of_as_many_other_words_is_refused(tiny_corpus, tmp_path, changed, place, caplog):
    folder = tmp_path / "trained on" if place == "where it was trained" else tmp_path
    folder.mkdir(exist_ok=True)
    path = changed(lambda state: state["cfg"]["task"].update(data=str(folder)))
    check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    assert "its words cannot be compared with those of" in caplog.text
    caplog.clear()
    for lang in PAIR:
        lines = DataFolder(tiny_corpus.path).dictionary_path(lang).read_text()
        (folder / f"dict.{lang}.txt").write_text(lines)
    check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    assert caplog.text == ""
    *others, one, last = lines.splitlines(keepends=True)
    (folder / "dict.de.txt").write_text("".join([*others, last, one]))
    rule = (
        r"^`--teacher` .*changed\.pt: must have the vocabulary of .*; word \d+ of 'de' is '.*' th"
    )
    with pytest.raises(UserError, match=rule):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")
    (folder / "dict.de.txt").write_text("no dictionary\n")
    with pytest.raises(UserError, match=r"dict\.de\.txt:1: must be a symbol, a space and a count"):
        check_autoregressive(path, tiny_corpus.path, PAIR, "--teacher")


@pytest.mark.parametrize("mapping", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("encoder_layers", 3, "`--rescore` .*: its weights do not fit its settings"),
        ("encoder_layers", 50_000, ".*: `encoder_layers` must be at most "),
        ("encoder_layers", 10**9, ".*encoder_layers` must be .* a number of at most 65536, got 10"),
        ("encoder_attention_heads", -4, "`--rescore` .*: its weights do not fit its settings"),
        ("encoder_attention_heads", 0, "`--rescore` .*: its weights do not fit its settings"),
        ("decoder_embed_dim", 1 << 15, "its settings must describe the model of its"),
        ("decoder_ffn_embed_dim", "16", "must be of type int"),
        ("dropout", None, "`--rescore` .*: its weights do not fit its settings"),
        ("encoder_embed_path", "/etc/passwd", None),
        ("no_such_option", 1, None),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(
    name, value, line, mapping, tiny_corpus, tmp_path
):
    path = tmp_path / "changed.pt"
    save_autoregressive(path, tiny_corpus.path, mapping=mapping)
    state = load_plain(path)
    settings = state["cfg"]["model"]
    (settings if mapping else vars(settings))[name] = value
    torch.save(state, path)
    if line is None:
        load_autoregressive(path, tiny_corpus.path, PAIR, "--rescore")
        return
    with pytest.raises(UserError, match=line):
        load_autoregressive(path, tiny_corpus.path, PAIR, "--rescore")


def test_files_that_are_no_checkpoints_are_refused(tiny_corpus, tmp_path):
    (tmp_path / "text.pt").write_text("text")
    for name, line in (("none.pt", "none.pt: no such checkpoint"), ("text.pt", "text.pt: ")):
        with pytest.raises(UserError, match=line):
            load_autoregressive(tmp_path / name, tiny_corpus.path, PAIR, "--rescore")
