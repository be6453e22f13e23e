"""`fairseq-xling map` on extracted states, from text to a head that reads another encoder's."""

import numpy as np
import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.mapping.fitted import read_map
from fairseq_xling.reports.record import read_record
from tests.end_to_end.engine import in_process, load
from tests.once import linked
from tests.records import value

WIDTH = 16


@pytest.fixture(scope="module")
def study(study_world, tmp_path_factory):
    """The shared one, with its encoder's coordinates permuted in another, which is a rotation."""
    root = linked(study_world, tmp_path_factory.mktemp("map"))
    state = load(root / "model" / "checkpoint_last.pt")
    order = torch.randperm(WIDTH, generator=torch.Generator().manual_seed(1))
    state["model"] = {name: permuted(name, x, order) for name, x in state["model"].items()}
    torch.save(state, root / "permuted.pt")
    return root


def permuted(name: str, x: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """A tensor of an encoder all of whose states have their coordinates in another ``order``."""
    part = ".".join(name.split(".")[-2:])
    if part in ("out.weight", "fc2.weight", "out.bias", "fc2.bias") or "norm" in part:
        return x[order]
    if x.dim() == 2 and x.shape[1] == WIDTH:  # embeddings, and what reads a state
        return x[:, order]
    return x


def extract(study, checkpoint, output, *options, lang="en"):
    text = study / "text" / "mono" / f"valid.{lang}.txt"
    arguments = ["--data", study / "data", "--lang", lang, "--text", text, "--output", output]
    assert main(["extract", *map(str, [checkpoint, *arguments, *options])]) == 0
    return output


@pytest.fixture(scope="module")
def tokens(study):
    """The tokens of the English text in both encoders, and links of each word to itself."""
    own, other = (
        extract(study, study / name, study / f"tokens-{n}", "--unit", "tokens")
        for n, name in enumerate(("model/checkpoint_last.pt", "permuted.pt"))
    )
    with open(study / "links", "w") as file:
        for subwords, _ in np.load(own / "lengths.npy"):
            file.write(" ".join(f"{i}-{i}" for i in range(subwords)) + "\n")
    return own, other


@pytest.fixture(scope="module")
def token_map(study, tokens):
    path = study / "tokens.safetensors"
    own, other = tokens
    links = ["--alignments", str(study / "links"), "--align-unit", "subword"]
    assert main(["map", "contextual", str(other), str(own), *links, "--output", str(path)]) == 0
    return path


def test_the_permutation_is_found_from_tokens_on_every_layer(study, tokens, token_map):
    fitted = read_map(token_map)
    assert list(fitted.layers) == [0, 1, 2]
    for layer in fitted.layers:
        own, other = (torch.from_numpy(np.load(f / f"layer{layer:02d}.npy")) for f in tokens)
        assert not torch.allclose(own, other, atol=0.1)
        torch.testing.assert_close(fitted.carry(other, layer), own, atol=1e-4, rtol=1e-4)
    pairs = read_record(f"{token_map}.json").facts["pairs"]
    assert pairs["links"] == len(own) + pairs["unknown or cut"]


def test_sentences_of_a_parallel_text_are_mapped_and_copied(study, capsys):
    folders = [
        extract(study, study / "model" / "checkpoint_last.pt", study / f"s-{lang}", lang=lang)
        for lang in ("de", "en")
    ]
    path, output = study / "sentences.safetensors", study / "s-mapped"
    arguments = ["--pairs", "rows", "--layers", "0,2", "--output", str(path)]
    assert main(["map", "procrustes", *map(str, folders), *arguments]) == 0
    assert main(["map", "apply", str(path), str(folders[0]), "--output", str(output)]) == 0
    assert "60 rows, 16 wide, of layers 0, 2" in capsys.readouterr().out
    fitted = read_map(path)
    states = torch.from_numpy(np.load(folders[0] / "layer02.npy"))
    np.testing.assert_allclose(np.load(output / "layer02.npy"), fitted.apply(states, 2), atol=1e-5)
    cosines = (
        value(f"{path}.json", layer=2, measure=name) for name in ("cosine", "cosine unmapped")
    )
    assert next(cosines) > next(cosines)


def test_words_of_two_languages_are_mapped_by_the_corpus_dictionary(study, capsys):
    checkpoint = study / "model" / "checkpoint_last.pt"
    folders = [
        extract(study, checkpoint, study / f"types-{lang}", "--unit", "types", lang=lang)
        for lang in ("de", "en")
    ]
    dictionary = study / "text" / "dictionary" / "en-de.tsv"
    path = study / "words.safetensors"
    arguments = ["--pairs", "dictionary", str(dictionary), "--output", str(path)]
    assert main(["map", "meeting", *map(str, folders), *arguments]) == 0
    assert "first column: types-en" in capsys.readouterr().out
    assert read_map(path).layers[1].fixed.matrix is not None
    assert read_record(f"{path}.json").facts["pairs"]["entries"] > 30


def tune(study, folder, *extra):
    """Train a head for parts of speech on the encoder."""
    train, valid = (
        study / "text" / "gold" / f"tags.{split}.en.tsv" for split in ("train", "valid")
    )
    in_process(
        *("train", study / "data", "--user-dir", USER_DIR, "--save-dir", folder),
        *"--task cross_lingual_transfer --arch cross_lingual_transfer".split(),
        *"--criterion cross_lingual_transfer --optimizer adam --lr 2e-2 --head pos".split(),
        *("--encoder", study / "model" / "checkpoint_last.pt", "--columns", "token=0,tag=1"),
        *("--train-file", f"en={train}", "--valid-file", f"en={valid}"),
        *("--no-epoch-checkpoints", "--cpu", "--num-workers", 0, *extra),
    )


@pytest.fixture(scope="module")
def tuned(study):
    """A head for parts of speech, with a layer of its own, on the frozen first layer (SPEC S6)."""
    tune(study, study / "tuned", "--freeze-encoder", "--read-layer", 1, "--head-layers", 1,
         "--batch-size", 8, "--max-epoch", 8)  # fmt: skip
    return study / "tuned" / "checkpoint_last.pt"


def test_a_head_reads_states_with_vectors_of_words_in_the_space_of_another_language(
    study, tmp_path, capsys
):
    """RositaWORD by the commands: vectors, states with them, their map, a head and its files."""
    checkpoint, model = study / "model" / "checkpoint_last.pt", tmp_path / "model"
    for lang in ("en", "de"):
        words = sorted(set((study / "text" / "mono" / f"valid.{lang}.txt").read_text().split()))
        rng = np.random.default_rng(len(words))
        lines = [f"{word} {' '.join(map(str, rng.normal(size=3).round(3)))}\n" for word in words]
        (tmp_path / f"{lang}.vec").write_text("".join(lines))
    tokens = [
        extract(
            study, checkpoint, tmp_path / lang, "--unit", "tokens", "--layers", "2",
            "--concat-vectors", tmp_path / f"{lang}.vec", lang=lang,
        )
        for lang in ("de", "en")
    ]  # fmt: skip
    sizes = [np.load(folder / "lengths.npy")[:, 1] for folder in tokens]
    links = [
        f"{' '.join(f'{i}-{i}' for i in range(min(pair)))}\n" for pair in zip(*sizes, strict=True)
    ]
    (tmp_path / "links").write_text("".join(links))
    how = ["--pairs", "alignments", tmp_path / "links", "--normalize", "centre"]
    fitted = tmp_path / "de-en"
    assert main([*map(str, ["map", "procrustes", *tokens, *how, "--output", fitted])]) == 0
    vectors = ",".join(f"{lang}={tmp_path / f'{lang}.vec'}" for lang in ("en", "de"))
    more = ("--concat-vectors", vectors, "--map", fitted)
    tune(study, model, *more, "--batch-size", 16, "--max-epoch", 1)
    weights = load(model / "checkpoint_last.pt")["model"]
    assert any(x.shape[-1] == WIDTH + 3 for n, x in weights.items() if n.startswith("network."))
    saved = str(model / "checkpoint_last.pt")
    file = f"de={study / 'text' / 'gold' / 'tags.test.de.tsv'}"
    assert main(["predict", saved, file, "--output", str(tmp_path / "found")]) == 0
    lower = ["--encoder", checkpoint, "--layer", "1", "--map", "none"]
    again = ["predict", "mapped", saved, file, *map(str, lower), "--output", str(tmp_path / "no")]
    assert main(again) == 1
    assert "a head trained with `--concat-vectors` or `--map` reads no" in capsys.readouterr().err
    (tmp_path / "de.vec").write_text("the 1 2 3\n")
    assert main(["predict", saved, file, "--output", str(tmp_path / "other")]) == 1
    assert "does not fit: it was trained with vectors " in capsys.readouterr().err


def predict(study, output, *words):
    tags = study / "text" / "gold" / "tags.test.en.tsv"
    assert main([*map(str, [*words, f"en={tags}", "--output", output])]) == 0
    return value(output / "scores.json", measure="accuracy")


def test_a_head_reads_another_encoder_through_the_map_and_by_chance_without(
    study, tuned, token_map
):
    own = predict(study, study / "own", "predict", tuned)
    lower = ["--encoder", study / "permuted.pt", "--layer", "1", "--map"]
    mapped = predict(study, study / "mapped", "predict", "mapped", tuned, *lower, token_map)
    plain = predict(study, study / "plain", "predict", "mapped", tuned, *lower, "none")
    assert mapped == pytest.approx(own, abs=0.2)
    assert own > plain + 20
    origin = read_record(study / "mapped" / "scores.json").provenance
    assert {"checkpoint", "encoder", "map"} < set(origin["inputs"])


def test_mistakes_about_the_lower_layers_are_one_line(study, tuned, token_map, capsys):
    file = f"en={study / 'text' / 'gold' / 'tags.test.en.tsv'}"
    right = {"--encoder": study / "permuted.pt", "--map": token_map, "--layer": 1}
    for change, message in (
        ({"--layer": 7}, "`layer` must be one that the map has (0, 1, 2), got 7"),
        ({"--layer": 7, "--map": "none"}, "`layer` must lie in [0, 2], got 7"),
        ({"--map": study / "no"}, "no: no such file"),
        ({"--encoder": study / "no.pt"}, "no.pt: no such checkpoint"),
    ):
        options = [str(word) for pair in {**right, **change}.items() for word in pair]
        arguments = [str(tuned), file, "--output", str(study / "never"), *options]
        assert main(["predict", "mapped", *arguments]) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert message in lines[-1] and lines[-1].startswith("fairseq-xling: error:")
    assert not (study / "never").exists()
