"""`fairseq-xling probe texts` and `clcr probe` on sequences whose vectors say the word's class."""

import json
from itertools import pairwise

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.clcr.sequences import Sequences
from fairseq_xling.verbs.parts import probe as probing
from tests.records import measured, value
from tests.sequence_folder import write_folder

CLASSES = {"NOUN": ["dog", "cat", "house"], "VERB": ["sees", "runs"], "DET": ["the", "a"]}
KIND = {word: name for name, words in CLASSES.items() for word in words}
SMALL = "--projection 8 --hidden 8 --dropout 0 --lr 0.02 --epochs 40 --patience 40".split()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A data folder of words, rows, and sequences: all words, and without determiners."""
    root, generator = tmp_path_factory.mktemp("probe"), np.random.default_rng(0)
    words = [*KIND]
    lines = [" ".join(generator.choice(words, 4)) for _ in range(150)]
    (root / "text").write_text("".join(line + "\n" for line in [*lines, *words]))
    prepare = ["--languages", "en", "--mono", f"train.en={root / 'text'}", "--aligner", "none"]
    prepare += ["--vocab-type", "word", "--vocab-size", "50", "--segment", "en=space"]
    assert main(["prepare", str(root / "data"), *prepare]) == 0
    for name, part in (
        ("train", slice(0, 100)),
        ("dev", slice(100, 120)),
        ("test", slice(120, 150)),
    ):
        file = root / f"{name}.jsonl"
        file.write_text(
            "".join(
                json.dumps({"text": line, "span1": [n, n + 1], "label": KIND[word]}) + "\n"
                for line in lines[part]
                for n, word in enumerate(line.split())
            )
        )
        assert main(["probe", "texts", str(file), "--output", str(root / f"{name}.txt")]) == 0
        texts = (root / f"{name}.txt").read_text().splitlines()
        assert texts == list(dict.fromkeys(lines[part]))
        for row, kept in (("T", set(KIND)), ("TE", set(KIND) - {"the", "a"})):
            spans, vectors = [], []
            for text in texts:
                places = [n for n, word in enumerate(text.split()) if word in kept][::-1]
                own = [[*CLASSES].index(KIND[text.split()[n]]) for n in places]
                vectors.append(np.eye(3, 5)[own] + 0.1 * generator.normal(size=(len(own), 5)))
                spans.append(np.array([[n, n + 1] for n in places]).reshape(-1, 2))
            lengths = [len(text.split()) for text in texts]
            write_folder(root / row / name, vectors, spans=spans, lengths=lengths)
    return root


def options(study, output, *rows, **files):
    given = ["clcr", "probe", "--data", str(study / "data"), "--output", str(output), *SMALL]
    for name, file in {"train": "train", "valid": "dev", "test": "test", **files}.items():
        given += [f"--{name}", f"en={study / file}.jsonl"]
    for row in rows:
        name, _, folder = row.partition("=")
        given += ["--vectors", f"{name}={study / folder}/{{file}}"]
    return given


def test_extraction_costs_the_recall_of_what_it_drops(study, tmp_path, capsys, monkeypatch):
    given = options(study, tmp_path / "run", "T=T", "T+E(.2)=TE")
    assert main(given) == 0
    printed = capsys.readouterr().out
    test = {"task": "en.test.jsonl", "seed": 1}
    before, after = (measured(tmp_path / "run", row=row, **test) for row in ("T", "T+E(.2)"))
    rows = [json.loads(line) for line in (study / "test.jsonl").read_text().splitlines()]
    dropped = np.mean([row["label"] == "DET" for row in rows])
    assert before["F1"] == 100 and after["P"] == 100
    assert after["R"] == pytest.approx(100 * (1 - dropped))
    count = sum(row["label"] == "DET" for row in rows)
    assert f"T+E(.2), en.test.jsonl: {count} examples have a span of which no key-point" in printed
    (folder,) = (tmp_path / "run" / "predictions").glob("T+E(.2)-seed1-*")
    lines = (folder / "en.test.jsonl").read_text().splitlines()
    ours = [json.loads(line) for line in lines]
    for row, own in zip(rows, ours, strict=True):
        assert own["label"] == ([] if row["label"] == "DET" else row["label"])

    # Finished probes are not made again, and results become a page.
    monkeypatch.setattr(probing, "fit_probe", None)
    assert main(given) == 0
    assert main(["report", str(tmp_path / "run"), "--output", str(tmp_path / "pages")]) == 0
    assert "T+E(.2)" in (tmp_path / "pages" / "run.html").read_text()


def test_another_order_of_the_same_key_points_is_probed_alike(study, tmp_path):
    for file in ("train", "dev", "test"):
        one = Sequences(study / "TE" / file)
        order = [np.arange(end)[start:end][::-1] for start, end in pairwise(one.offsets)]
        vectors = np.load(study / "TE" / file / "vectors.npy")
        write_folder(
            study / "TER" / file,
            [vectors[rows] for rows in order],
            spans=[one.spans[rows] for rows in order],
            lengths=one.lengths.tolist(),
        )
    assert main(options(study, tmp_path / "run", "T+E=TE", "T+E+R=TER")) == 0
    predictions = sorted((tmp_path / "run" / "predictions").glob("*/en.test.jsonl"))
    assert len(predictions) == 2
    assert predictions[0].read_text() == predictions[1].read_text()


def test_spans_of_characters_are_found_too(study, tmp_path):
    for name in ("train", "dev", "test"):
        rows = [json.loads(line) for line in (study / f"{name}.jsonl").read_text().splitlines()]
        for row in rows:
            words, first = row["text"].split(), row["span1"][0]
            begin = len(" ".join(words[:first])) + (first > 0)
            row["span1"] = [begin, begin + len(words[first])]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "chars").mkdir(exist_ok=True)
        (tmp_path / "chars" / f"{name}.jsonl").write_text(text)
    given = options(study, tmp_path / "run", "T=T")
    given = [word.replace(f"en={study}", f"en={tmp_path / 'chars'}") for word in given]
    assert main([*given, "--offsets", "characters"]) == 0
    assert value(tmp_path / "run", row="T", task="en.test.jsonl", measure="F1") == 100


def test_mistakes_are_named_before_anything_is_trained(study, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(probing, "fit_probe", None)

    def says(*rows, **files):
        assert main(options(study, tmp_path / "run", *rows, **files)) == 1
        return capsys.readouterr().err.strip().splitlines()[-1]

    assert "`--vectors` must be given" in says()
    assert "no such folder; `fairseq-xling clcr encode` writes one" in says("T=none")
    write_folder(study / "other" / "train", [np.ones((4, 5))])
    assert "other/train: must have a sentence for each of" in says("T=other")
    assert not (tmp_path / "run").exists()
