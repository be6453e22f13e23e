"""`fairseq-xling eval` on a model that fairseq-train has just made."""

import json
import math

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.reports.record import read_record
from tests.end_to_end.engine import BIN, launch
from tests.once import linked
from tests.records import rows, value


@pytest.fixture(scope="module")
def study(study_world, tmp_path_factory):
    return linked(study_world, tmp_path_factory.mktemp("eval"))


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    assert main(["eval", *map(str, arguments)]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    ours = [line for line in lines if line.startswith("fairseq-xling: error:")]
    assert len(ours) == 1
    assert lines[-1] == ours[0]
    return ours[0]


def test_every_measure_prints_a_table_and_lands_in_the_file(study):
    output = study / "eval.json"
    done = launch(
        [
            *(str(BIN / "fairseq-xling"), "eval", str(study / "model" / "checkpoint_last.pt")),
            *("--data", str(study / "data"), "--measure", "retrieval,words,bpw"),
            *("--dictionary", str(study / "text" / "dictionary"), "--output", str(output)),
        ],
    )
    assert done.returncode == 0, done.stderr
    for title in ("Sentence retrieval, P@1", "Word retrieval", "Bits per word"):
        assert title in done.stdout
    record = json.loads(output.read_text())
    retrieval = rows(output, task="retrieval", measure="mean")
    assert [row["layer"] for row in retrieval] == [0, 1, 2]  # embeddings and two layers
    assert retrieval[0]["chance"] == pytest.approx(1 / 60)
    (bits,) = rows(output, task="bpw", target="en")
    assert abs(bits["value"] - bits["chance"]) < 1  # hardly trained
    assert 0 < value(output, task="words", measure="MRR", best=1) < 1
    assert set(record["provenance"]) == {"command", "date", "inputs", "machine", "versions"}
    assert len(record["provenance"]["inputs"]["checkpoint 0"]["sha256"]) == 64


def test_masked_log_probabilities_do_not_depend_on_batches_nor_on_positions_outside(study):
    import numpy as np
    import torch

    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(study / "model" / "checkpoint_last.pt")
    file = encoder.folder.mono("valid", "en")
    sentences = [file[i] for i in range(40)]
    masks = [np.array([0, len(sentence) // 2]) for sentence in sentences]
    sums = [
        float(torch.cat(list(encoder.masked_log_probs(sentences, masks, "en", size))).sum())
        for size in (40, 8192)
    ]
    assert sums[0] == pytest.approx(sums[1], rel=1e-5)
    # By hand: one sentence, its masks put in place, the model's own logits.
    sentence, chosen = sentences[0], sorted(set(masks[0].tolist()))
    tokens = torch.tensor([[0, *sentence.tolist()]])
    masked = tokens.clone()
    masked[0, [t + 1 for t in chosen]] = 4
    src = {
        "tokens": masked,
        "langs": torch.zeros_like(masked),
        "positions": torch.arange(masked.shape[1])[None],
    }
    with torch.no_grad():
        states = encoder.model.encoder.states(src, ("en", "en"))[-1][0]
        logits = encoder.model.encoder.logits(states, ("en", "en")).log_softmax(-1)
    expected = [float(logits[t + 1, sentence[t]]) for t in chosen if sentence[t] > 5]
    got = torch.cat(list(encoder.masked_log_probs(sentences[:1], masks[:1], "en")))
    assert got.tolist() == pytest.approx(expected, abs=1e-5)
    beyond = [np.array([10_000])]
    assert sum(map(len, encoder.masked_log_probs(sentences[:1], beyond, "en"))) == 0
    assert math.isfinite(sums[0])


def test_a_mistake_of_a_program_is_one_line(study):
    done = launch([BIN / "fairseq-xling", "eval", "none.pt", "--data", study / "data"])
    assert done.returncode == 1
    assert done.stderr == "fairseq-xling: error: none.pt: no such checkpoint\n"


@pytest.fixture(scope="module")
def damaged(study):
    """The study with a checkpoint that is cut off, and files to measure on that are none."""
    whole = (study / "model" / "checkpoint_last.pt").read_bytes()
    (study / "cut.pt").write_bytes(whole[: len(whole) // 2])
    (study / "empty.tsv").write_text("")
    (study / "a.txt").write_text("the team\nthe player\n")
    (study / "b.txt").write_text("die Mannschaft\n")
    return study


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{m} --data {w}/data --measure retreival", "unknown measure 'retreival'; did you mean"),
        ("{w}/cut.pt --data {w}/data", "cut.pt"),
        ("{m} --data {w}/other", "other has a vocabulary per language"),
        ("{m} --data {w}/text", "is a folder of text, from which `fairseq-xling prepare"),
        ("{m} --data {w}/data --targets fr", "unknown language 'fr'"),
        ("{m} --data {w}/data --targets en", "must not name the source language 'en'"),
        (
            "{m} --data {w}/data --measure words --dictionary {w}/empty.tsv",
            "empty.tsv: the dictionary is empty",
        ),
        (
            "{m} --data {w}/data --measure retrieval --retrieval-text {w}/a.txt {w}/b.txt",
            "must have equally many lines, got 2 and 1",
        ),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(damaged, capsys, words, message):
    words = words.format(w=damaged, m=damaged / "model" / "checkpoint_last.pt")
    assert message in fails(capsys, *words.split(), "--output", damaged / "never.json")
    assert not (damaged / "never.json").exists()


def extract(study, *options):
    return [
        *("extract", str(study / "model" / "checkpoint_last.pt"), "--data", str(study / "data")),
        *("--lang", "de", "--text", str(study / "text" / "mono" / "valid.de.txt"), *options),
    ]


def test_extracted_sentences_give_the_retrieval_that_eval_measures(study, capsys):
    vectors = {}
    for lang in ("en", "de"):
        text, output = study / "text" / "mono" / f"valid.{lang}.txt", study / f"states-{lang}"
        options = ["--lang", lang, "--text", str(text), "--layers", "1-2", "--output", str(output)]
        assert main(extract(study, *options)) == 0
        vectors[lang] = np.load(output / "layer02.npy", mmap_mode="r")
        assert vectors[lang].shape == (60, 16)
        meta = json.loads((output / "meta.json").read_text())
        assert meta["provenance"]["inputs"]["text"]["path"] == str(text)
    unit = {x: v / np.linalg.norm(v, axis=1, keepdims=True) for x, v in vectors.items()}
    cosines = unit["en"] @ unit["de"].T
    own = np.diag(cosines)[:, None]
    found = ((cosines >= own).sum(1) == 1).mean()
    checkpoint = str(study / "model" / "checkpoint_last.pt")
    output = study / "again.json"
    options = ["--measure", "retrieval", "--retrieval-split", "valid", "--output", str(output)]
    assert main(["eval", checkpoint, "--data", str(study / "data"), *options]) == 0
    assert value(output, measure="forward", layer=2) == pytest.approx(found, abs=1e-9)


def test_static_embeddings_serve_lexicon_induction(study, capsys):
    from fairseq_xling.interop.encoder import Encoder

    folders = []
    for lang in ("en", "de"):
        text = study / "text" / "mono" / f"train.{lang}.txt"
        folders.append(str(study / f"static-{lang}"))
        options = ["--lang", lang, "--text", str(text), "--unit", "static", "--output", folders[-1]]
        assert main(extract(study, *options)) == 0
    encoder = Encoder.load(study / "model" / "checkpoint_last.pt")
    table = encoder.model.encoder.tokens.select("de").weight
    words = (study / "static-de" / "words.txt").read_text().split()
    symbols = (study / "data" / "dict.txt").read_text().splitlines()
    row = 4 + [line.rsplit(" ", 1)[0] for line in symbols].index("▁" + words[0])
    found = np.load(study / "static-de" / "layer00.npy")
    assert found[0].tolist() == table[row].tolist()
    dictionary, output = study / "text" / "dictionary" / "en-de.tsv", study / "bli.json"
    options = ["--dictionary", str(dictionary), "--output", str(output)]
    assert main(["eval", "bli", *folders, *options]) == 0
    assert read_record(output).facts["candidates"] == len(words)
    assert 0 <= value(output, measure="P@1 cosine", layer=0) < 0.5  # hardly trained


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layers", "3"], "`--layers` must lie in [0, 2], got '3'"),
        (["--lang", "fr"], "trained on en, de, not on 'fr'"),
        (["--unit", "words"], "unknown `--unit` 'words'"),
    ],
)
def test_mistakes_of_extract_are_one_line(study, capsys, tmp_path, options, message):
    assert main(extract(study, "--output", str(tmp_path / "out"), *options)) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert message in lines[-1] and lines[-1].startswith("fairseq-xling: error:")
    assert not list(tmp_path.iterdir())
