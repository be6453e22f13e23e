"""RositaWORD: states with vectors of words, mapped from one language's space to another's."""

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, read_map
from fairseq_xling.mapping.steps import Step
from fairseq_xling.tasks.head_input import HeadInput, TokenVectors, check_mapped
from fairseq_xling.tasks.word_vectors import WordVectors
from fairseq_xling.text.encoder import TextEncoder
from tests.records import by_layer

DIM, WIDTH, WORDS = 8, 6, 5  # of a state, of a word vector, in a line


def planted(write_states, part, lines, seed):
    """Tokens of a language and of another whose states are rotated and whose vectors are shifted:
    a folder of each, and the rows that they have."""
    rng = np.random.default_rng(seed)
    count = lines * WORDS
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(DIM, DIM)))[0]
    offset = np.random.default_rng(10).normal(size=WIDTH) * 3
    h, u = rng.normal(size=(count, DIM)), rng.normal(size=(count, WIDTH))
    fixed, moving = np.hstack([h, u]), np.hstack([h @ turn, u + offset])
    places = np.tile(np.arange(WORDS), lines)
    arrays = {"places": places, "words": places, "sentences": np.full(lines, WORDS)}
    arrays |= {"lengths": np.full((lines, 2), WORDS), "ids": places}
    folders = []
    for lang, rows in (("de", moving), ("en", fixed)):
        rows = rows.astype(np.float32)
        folder = write_states(lang, {0: rows}, unit="tokens", **arrays)
        folders.append(folder.rename(folder.with_name(f"{part}-{lang}")))
    return folders, torch.from_numpy(moving).float(), torch.from_numpy(fixed).float()


@pytest.mark.parametrize("method", ["procrustes", "unconstrained"])
def test_a_rotation_of_states_and_an_offset_of_vectors_are_undone_on_held_out_tokens(
    write_states, tmp_path, method
):
    learnt, _, _ = planted(write_states, "train", 60, 1)
    held, moving, fixed = planted(write_states, "test", 30, 2)
    links = [" ".join(f"{i}-{i}" for i in range(WORDS)) + "\n"]
    files = {}
    for name, lines in (("train", 60), ("test", 30)):
        files[name] = tmp_path / f"{name}.links"
        files[name].write_text("".join(links * lines))
    path = tmp_path / "map"
    fit = ["map", method, *learnt, "--pairs", "alignments", files["train"], "--output", path]
    assert main([*map(str, fit), "--normalize", "centre"]) == 0
    found = {}
    for name, mapped in (("before", ()), ("after", ("--map", path))):
        words = ["eval", "aligned", *held, "--alignments", files["test"], *mapped]
        assert main([*map(str, words), "--output", str(tmp_path / f"{name}.json")]) == 0
        found[name] = by_layer(tmp_path / f"{name}.json")["curves"]
    slow = ((moving - fixed) ** 2).sum(1).mean()
    assert found["before"]["aligned"][0] == pytest.approx(float(slow), rel=1e-5)
    assert found["after"]["aligned"][0] < 0.1 * found["before"]["aligned"][0]
    assert found["after"]["ratio"][0] < 0.1
    # Words at random stay as far from each other as they are within a language.
    assert found["after"]["random"][0] == pytest.approx(2 * (DIM + WIDTH), rel=0.2)
    fitted = read_map(path)
    distances = torch.cdist(fitted.apply(moving, 0), fitted.fixed(fixed, 0))
    assert (distances.argmin(1) == torch.arange(len(moving))).all()  # P@1 = 1


@pytest.fixture
def encode(tmp_path):
    """The encoder of a text whose words are cut into letters and pairs of them."""
    (tmp_path / "text").write_text("ab abc b cab\nc ab a bc\n" * 4)
    words = ["--languages", "en", "--mono", f"train.en={tmp_path / 'text'}", "--vocab-size", "12"]
    assert main(["prepare", str(tmp_path / "data"), *words]) == 0
    return TextEncoder.load(tmp_path / "data", "en")


def slow_rows(encode, vectors, line):
    """Of each subword of a line the vector of its word, word by word."""
    found = []
    for word in line.split():
        (ids,) = encode.encode([word])
        known = list(vectors.words).index(word) if word in vectors.words else None
        row = np.zeros(2) if known is None else vectors.vectors[known]
        found += [row] * (len(ids) - 1)
    return np.array(found)


def test_each_subword_has_the_vector_of_its_word_and_special_symbols_have_none(encode):
    words, rows = ["abc", "cabbc", "ab"], np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    vectors = WordVectors(words, rows, np.array([3, 2, 1]))
    static = TokenVectors(encode, vectors)
    lines = ["ab abc zz cabbc", "cabbc", "abc abc b"]
    for line, ids in zip(lines, encode.encode(lines), strict=True):
        framed = np.concatenate([[0], ids, ids])  # as the texts of a pair
        found = static.table[static.rows(framed)]
        expected = slow_rows(encode, vectors, line)
        assert len(expected) == len(ids) - 1 > 0
        end = np.zeros((1, 2))
        np.testing.assert_array_equal(found, np.concatenate([end, expected, end, expected, end]))
    assert len(encode.encode(["cabbc"])[0]) > 2  # or no word would be of several subwords


def two_sided(width=DIM, langs=("de", "en")):
    centre = Step("centre", torch.ones(width, dtype=torch.float64))
    matrix = torch.eye(width, dtype=torch.float64) * 2
    layer = LayerMap(Side(width, (centre,), matrix), Side(width, (centre,)))
    sides = zip(("moving", "fixed"), langs, strict=True)
    return FittedMap({1: layer}, "procrustes", {side: {"lang": lang} for side, lang in sides})


def test_a_map_has_a_side_for_each_of_its_languages():
    sides = HeadInput(fitted=two_sided()).sides(1, DIM)
    rows = torch.full((1, DIM), 3.0)
    assert sides["de"](rows).tolist() == [[4.0] * DIM] and sides["en"](rows).tolist() == [[2.0] * 8]
    check_mapped(sides, "de")
    check_mapped((), "fr")
    with pytest.raises(UserError, match=r"^`--map` is of de and en, got a file of 'fr'$"):
        check_mapped(sides, "fr")


@pytest.mark.parametrize(
    ("fitted", "layer", "message"),
    [
        (two_sided(), 2, "`layer` must be one that the map has (1), got 2"),
        (two_sided(langs=("en", "en")), 1, "`--map` must be of two languages, got en and en"),
        (two_sided(DIM + 1), 1, "`--map` must be of vectors 8 wide, 8 of a state and 0 of a word"),
    ],
)
def test_a_map_of_other_states_is_refused(fitted, layer, message):
    with pytest.raises(UserError) as error:
        HeadInput(fitted=fitted).sides(layer, DIM)
    assert str(error.value).startswith(message)


def test_every_language_that_is_read_has_vectors(encode):
    vectors = {"de": WordVectors(["a"], np.zeros((1, 2), np.float32), np.array([1]))}
    with pytest.raises(UserError, match=r"^`--concat-vectors` must have a file of 'en'$"):
        HeadInput(vectors=vectors).of(encode)
    assert HeadInput().of(encode) is None


def test_distances_take_tokens_alone(write_states, tmp_path):
    from fairseq_xling.verbs.eval_aligned import Options, compare
    from fairseq_xling.verbs.parts.comparison import Sides

    folders = [write_states(lang, {0: np.ones((2, 3), np.float32)}) for lang in ("de", "en")]
    options = Options(x=folders[0], y=folders[1], alignments="links", align_unit="word")
    with pytest.raises(UserError, match="must contain tokens, got sentences"):
        compare(Sides(None, None), options)
