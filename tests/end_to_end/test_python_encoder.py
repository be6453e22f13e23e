"""`xling.Encoder` on a model that knows every word: a word and its translation are one vector."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import fairseq_xling as xling
from fairseq_xling.cli import main
from tests.end_to_end.word_study import WORDS

TEXTS = ["dog cat", "", "sun moon tree", "one"]
BOTH = ("en", "xx")
OTHERS = ["xdog xcat", "xone", "xsun xmoon xtree"]


@pytest.fixture(scope="module")
def encoder(relabelled):
    return xling.Encoder.load(relabelled.checkpoint)


def test_the_import_is_quick_and_names_what_there_is():
    code = (
        "import sys, fairseq_xling as xling; assert 'Encoder' in dir(xling);"
        "assert not {'torch', 'fairseq', 'numpy', 'sklearn'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'Encode'"):
        _ = xling.Encode


def test_the_programs_own_logs_stay_as_they_are_and_no_metric_that_we_do_not_need_is_loaded():
    code = (
        "import logging, sys, fairseq_xling as xling; xling.Translator; import fairseq;"
        "root = logging.getLogger(); assert not root.handlers and root.level == logging.WARNING;"
        "assert not {'sklearn', 'scipy.stats'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_vectors_are_means_of_states_and_do_not_depend_on_the_batches(encoder):
    layers = encoder.encode(TEXTS, "en", layers="all")
    assert layers.shape == (encoder.num_layers + 1, 4, encoder.width)
    assert np.array_equal(encoder.encode(TEXTS, "en"), layers[-1])
    assert np.array_equal(encoder.encode(TEXTS, "en", layers=[1, 0]), layers[[1, 0]])
    alone = [encoder.encode([text], "en", max_tokens=1)[0] for text in TEXTS]
    assert np.allclose(alone, layers[-1], atol=1e-5)
    states = encoder.encode(TEXTS, "en", pooling="none")
    assert [len(rows) for rows in states] == [2, 0, 3, 1]
    for number in (0, 2, 3):
        assert np.allclose(states[number].mean(0), layers[-1, number], atol=1e-5)
    assert not layers[:, 1].any()  # a blank text
    assert encoder.encode([], "en").shape == (0, encoder.width)


def test_a_string_is_one_sentence(encoder):
    for options in ({}, {"layers": "all"}, {"pooling": "none"}, {"pooling": "none", "layers": [0]}):
        inside = encoder.encode(["dog cat"], "en", **options)
        several = options.get("layers") == "all"
        expected = inside[:, 0] if several else inside[0]
        assert np.array_equal(encoder.encode("dog cat", "en", **options), expected)


def test_the_language_of_a_model_with_one_need_not_be_named(encoder, monkeypatch):
    expected = encoder.encode("dog", "en")
    monkeypatch.setattr(encoder, "languages", ["en"])
    assert np.array_equal(encoder.encode("dog"), expected)
    assert encoder.fill_mask("<mask>") == encoder.fill_mask("<mask>", "en")
    layers, width = encoder.num_layers, encoder.width
    assert repr(encoder) == f"Encoder(en; {layers} layers, {width} wide, on cpu)"


def test_a_relative_data_folder_is_found_above_the_checkpoint(relabelled, tmp_path, monkeypatch):
    state = torch.load(relabelled.checkpoint, weights_only=False)
    data = Path(state["cfg"]["task"]["data"])
    state["cfg"]["task"]["data"] = data.name
    (tmp_path / "run/models").mkdir(parents=True)
    torch.save(state, tmp_path / "run/models/x.pt")
    (tmp_path / "run/models" / data.name).mkdir()  # of that name, but without a dictionary
    with pytest.raises(ValueError, match=f"x.pt: its data folder {data.name} is not here; name it"):
        xling.Encoder.load(tmp_path / "run/models/x.pt")
    shutil.copytree(data, tmp_path / "run" / data.name)
    found = xling.Encoder.load(tmp_path / "run/models/x.pt")
    assert found.folder.path == tmp_path / "run" / data.name
    monkeypatch.chdir(tmp_path / "run")
    assert xling.Encoder.load("models/x.pt").folder.path == Path(data.name)


@pytest.mark.parametrize("name", ["bert-base-multilingual-cased", "google/muril-base-cased"])
def test_a_name_of_the_hub_is_not_downloaded(name):
    with pytest.raises(ValueError, match=f"^{name}: no such checkpoint; models are not downloaded"):
        xling.Encoder.load(name)


def test_a_folder_of_hugging_face_is_to_be_imported(tmp_path):
    (tmp_path / "config.json").touch()
    with pytest.raises(ValueError, match="by `fairseq-xling import "):
        xling.Encoder.load(tmp_path)


def test_dir_shows_what_is_ours():
    ours = {"Aligner", "Encoder", "Translator", "USER_DIR", "load_plugins", "measures"}
    assert {name for name in dir(xling) if not name.startswith("_")} == ours | {"read_study"}


def test_unknown_words_are_left_out_of_vectors_unless_they_are_asked_for(encoder):
    texts = ["dog zzz", "zzz", "dog cat"]
    left_out, counted = (encoder.encode(texts, "en", unknown=u) for u in (False, True))
    assert not left_out[1].any() and counted[1].any()
    assert np.array_equal(left_out[2], counted[2])
    states = encoder.encode(texts, "en", pooling="none", unknown=True)
    assert [len(rows) for rows in states] == [2, 1, 2]
    assert np.allclose(left_out[0], states[0][0], atol=1e-5)
    assert np.allclose(counted[0], states[0].mean(0), atol=1e-5)


def test_a_translation_is_retrieved(encoder):
    found = encoder.retrieve(["sun moon tree", "dog cat", "one"], OTHERS, ("en", "xx"))
    assert found.index.ravel().tolist() == [2, 0, 1]
    assert np.allclose(found.score, 1, atol=1e-5)


def test_words_for_a_mask_come_with_their_probabilities_best_first(encoder):
    found = encoder.fill_mask("xdog <mask> xone", "xx", top_k=200)
    before = [one.probability for one in found]
    assert before == sorted(before, reverse=True) and 0.5 < sum(before) <= 1 + 1e-5
    # All that its bias admits, and nothing else.
    assert {one.token for one in found[: len(WORDS)]} == {f"x{word}" for word in WORDS}
    assert found[0].text == f"xdog {found[0].token} xone"
    assert encoder.fill_mask("xdog <mask> xone", "xx", top_k=2) == found[:2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.encode(["dog", 1], "en"), "`texts` must be strings, got 1 at index 1"),
        (lambda e: e.encode(["dog"], "de"), "`lang`: unknown language 'de'; known: en, xx"),
        (lambda e: e.encode(["dog"], None), "`lang` must be one of en, xx, got none"),
        (lambda e: e.encode(["dog"], 3), "`lang` must be a string, got 3"),
        (lambda e: e.encode(b"dog", "en"), "`texts` must be a list of strings, got b'dog'"),
        (lambda e: e.fill_mask(["<mask>"], "en"), "`text` must be a string, got \\['<mask>'\\]"),
        (lambda e: e.retrieve(["a"], ["b"], ("en", "de")), "`langs`: unknown language 'de'; known"),
        (lambda e: e.encode(["dog"], "en", layers=7), r"`layers` must lie in \[-"),
        (lambda e: e.encode(["dog"], "en", layers=()), "`layers` must name at least one"),
        (lambda e: e.encode(["dog"], "en", pooling="max"), "`pooling` must be one of"),
        (lambda e: e.fill_mask("dog", "en"), "`text` must contain <mask> exactly once"),
        (lambda e: e.fill_mask("dog <mask>", "en", top_k=0), "`top_k` must be a whole number"),
        (lambda e: e.fill_mask("dog " * 50 + "<mask>", "en"), "`text` must have its mask among"),
        (lambda e: e.retrieve(["dog"], ["xdog"], "en"), "`langs` must be the two languages"),
        (lambda e: e.retrieve("dog", ["xdog"], BOTH), "`queries` must be a list of strings, got"),
        (lambda e: e.retrieve(["dog"], [], BOTH), "`texts` must have at least one text, got none"),
    ],
)
def test_bad_arguments_are_named(encoder, call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call(encoder)


def test_options_are_those_of_sentence_transformers(encoder, capsys):
    model = encoder.using("en")
    plain = encoder.encode(TEXTS, "en")
    assert np.allclose(model.encode(TEXTS, batch_size=1), plain, atol=1e-5)
    unit = model.encode(TEXTS, normalize_embeddings=True)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    assert np.allclose(unit, plain / np.where(lengths, lengths, 1), atol=1e-6)
    tensor = model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=True)
    assert torch.is_tensor(tensor) and np.array_equal(tensor, plain)
    assert "encode" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"^`prompt` must be None, got 'query: '"):
        model.encode(TEXTS, prompt="query: ", truncate_dim=None)
    with pytest.raises(ValueError, match="`lang` must be one of en, xx, got none"):
        encoder.encode(TEXTS)
    cosines = model.similarity(plain[[0, 2]], plain)
    expected = (unit[[0, 2]] @ unit.T).tolist()
    assert np.allclose(cosines, expected, atol=1e-6)


def test_the_utilities_of_sentence_transformers_take_it_for_a_model(encoder):
    util = pytest.importorskip("sentence_transformers.util")
    texts = ["dog cat", "sun moon tree", "cat dog", "one", "two one two"]
    score, *pair = util.paraphrase_mining(encoder.using("en"), texts, batch_size=2)[0]
    assert pair == [0, 2] and score > 0.9
    corpus = encoder.using("xx").encode(OTHERS, convert_to_tensor=True)
    hits = util.semantic_search(encoder.using("en").encode("one", convert_to_tensor=True), corpus)
    assert hits[0][0]["corpus_id"] == 1


def test_subwords_are_those_behind_the_rows_of_states(encoder):
    texts = ["dog cat", "", "zzz dog"]
    for unknown in (False, True):
        rows = encoder.encode(texts, "en", pooling="none", unknown=unknown)
        found = encoder.tokenize(texts, "en", unknown=unknown)
        assert [len(tokens.ids) for tokens in found] == [len(states) for states in rows]
        assert [len(tokens.texts) for tokens in found] == [len(states) for states in rows]
    assert encoder.tokenize("dog cat", "en").texts == ["▁dog", "▁cat"]
    long = "dog " * 5000
    rows = encoder.encode(long, "en", pooling="none")
    assert len(encoder.tokenize(long, "en").ids) == len(rows) < 5000


def test_words_have_the_mean_of_their_subwords(encoder):
    words, vectors = encoder.word_vectors("sun moon\u00a0x tree", "en", layer=1)
    assert words == ["sun", "moon\u00a0x", "tree"]
    states = encoder.encode("sun moon\u00a0x tree", "en", layers=1, pooling="none", unknown=True)
    assert np.allclose(vectors[[0, 2]], states[[0, -1]], atol=1e-6)
    assert np.allclose(vectors[1], states[1:-1].mean(0), atol=1e-6)
    assert encoder.word_vectors(["", "dog"], "en")[0].vectors.shape == (0, encoder.width)


@pytest.mark.parametrize("method", ["argmax", "itermax"])
def test_words_are_aligned_by_their_vectors(encoder, method):
    links = encoder.align("sun moon tree", "xtree xsun xmoon", BOTH, layer=0, method=method)
    assert {(0, 1), (1, 2), (2, 0)} <= {*links}
    assert method == "itermax" or len(links) == 3
    several = encoder.align(["dog", ""], ["xdog", "xcat"], BOTH, layer=0)
    assert several == [[(0, 0)], []]
    with pytest.raises(ValueError, match="unknown `method` 'both'; known: argmax, itermax"):
        encoder.align("dog", "xdog", BOTH, method="both")
    with pytest.raises(ValueError, match="must have equally many texts, got 1 and 2"):
        encoder.align(["dog"], ["xdog", "xcat"], BOTH)


def test_words_are_aligned_through_a_map(encoder):
    """Vectors that were turned are found again by a map that turns them back."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(encoder.width,) * 2))[0]

    class Turned:
        def transform(self, x):
            return x @ turn.astype(np.float32)

        def transform_fixed(self, y):
            return y

    links = encoder.align("sun moon tree", "xtree xsun xmoon", BOTH, layer=0)
    fitted = xling.Aligner("procrustes")
    x, y = (
        np.concatenate([w.vectors for w in encoder.word_vectors(t, lang, layer=0)])
        for t, lang in ((WORDS, "en"), ([f"x{word}" for word in WORDS], "xx"))
    )
    fitted.fit(x, y)
    assert encoder.align("sun moon tree", "xtree xsun xmoon", BOTH, layer=0, map=fitted) == links
    assert encoder.align("sun moon tree", "xtree xsun xmoon", BOTH, layer=0, map=Turned()) != links


def test_dir_of_the_measures_lists_measures():
    shown = dir(xling.measures)
    assert {"cka", "tatoeba", "bli", "mean_shift"} < {*shown} and "np" not in shown


def test_files_are_aligned_by_an_encoder(relabelled, encoder, tmp_path, capsys):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("sun moon tree\n\ndog\n")
    target.write_text("xtree xsun xmoon\nxdog\nxdog\n")
    words = ["align", "intersection", str(source), str(target), "--output", str(tmp_path / "links")]
    how = ["--encoder", str(relabelled.checkpoint), "--languages", "en,xx", "--layer", "0"]
    assert main([*words, *how]) == 0
    assert (tmp_path / "links").read_text() == "0-1 1-2 2-0\n\n0-0\n"
    assert "4 links of 3 sentence pairs" in capsys.readouterr().out
    for links, least in (("fwd", 3), ("rev", 3), ("union", 4), ("gdfa", 4), ("itermax", 4)):
        words[1] = links
        assert main([*words, *how]) == 0
        lines = (tmp_path / "links").read_text().splitlines()
        assert {"0-1", "1-2", "2-0"} <= {*lines[0].split()} and lines[2] == "0-0"
        assert len(" ".join(lines).split()) >= least
    capsys.readouterr()
    for options, line in (
        (how[:2], "`--encoder` needs `--languages A,B`, those of source and target"),
        ([*how, "--aligner", "eflomal"], "`--aligner` has no effect with `--encoder`, got eflomal"),
        (how[2:4], "`--languages` has no effect without `--encoder`"),
        ([*how[:2], "--languages", "en,fr"], "`--languages`: unknown language 'fr'"),
        ([*how[:4], "--layer", "9"], "`--layer` must lie in [0, 3], got 9"),
    ):
        assert main([*words, *options]) == 1
        assert line in capsys.readouterr().err
    words[1] = "both"
    assert main([*words, *how]) == 1
    assert "unknown `LINKS` 'both'; known: fwd, rev" in capsys.readouterr().err
