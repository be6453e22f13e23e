"""The verb's three actions through the command's entry point, on tiny files."""

import json
import shutil
import sys
import types
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from fairseq_xling.core import texts
from fairseq_xling.core.files import read_json
from fairseq_xling.papers.transfer.structures import features
from fairseq_xling.papers.transfer.structures import runs as matrix
from fairseq_xling.papers.transfer.structures.matrix import AWAY, compared
from fairseq_xling.papers.transfer.structures.training import read_model
from fairseq_xling.reports.record import read_record
from tests.records import measured, rows, table, values
from tests.unit.papers.transfer.structures.planted import write_jsonl, write_planted
from tests.unit.papers.transfer.structures.test_formats import GOOD, KBP37

QUICK = "--epochs 2 --width 8 --hidden 8 --embedding 4 --optimizer adam --device cpu"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = write_planted(tmp_path_factory.mktemp("structures"), train=24, held_out=8)
    for split in ("train", "valid", "test"):
        shutil.copy(folder / f"{split}.1.jsonl", folder / f"{split}.en.jsonl")
    shutil.copy(folder / "test.2.jsonl", folder / "test.de.jsonl")
    return folder


def call(text, *, fails=""):
    """Run a command; ``fails`` is a part of its error."""
    assert main(["struct", *text.split()]) == (1 if fails else 0)


def train(world, output, more=""):
    call(
        f"train --train en={world}/train.en.jsonl --valid en={world}/valid.en.jsonl "
        f"--vectors en={world}/1.vec,de={world}/2.vec {QUICK} --output {output} {more}"
    )


def test_train_and_predict_give_scores_and_files_in_the_form_of_the_input(world, tmp_path, capsys):
    train(world, tmp_path / "model", f"--test de={world}/test.de.jsonl")
    assert "106 wide words" not in capsys.readouterr().out
    one = {"row": "test.de.jsonl", "target": "de"}
    (scores, *_) = rows(tmp_path / "model/scores.json", **one)
    call(f"predict {tmp_path}/model de={world}/test.de.jsonl --output {tmp_path}/found")
    found = measured(tmp_path / "found/scores.json", **one)
    assert found == measured(tmp_path / "model/scores.json", **one)
    assert list(found) == ["candidates", "precision", "recall", "F1"] and scores["gold"] > 0
    predicted = (tmp_path / "found/test.de.jsonl").read_text()
    assert predicted == (tmp_path / "model/predictions/test.de.jsonl").read_text()
    lines = [json.loads(line) for line in predicted.splitlines()]
    assert sum(len(line["relations"]) for line in lines) == scores["predicted"]
    assert [line["words"] for line in lines] == [
        json.loads(line)["words"] for line in (world / "test.de.jsonl").read_text().splitlines()
    ]


def test_two_runs_write_equal_models_and_a_finished_one_is_not_trained_again(world, tmp_path):
    train(world, tmp_path / "one")
    train(world, tmp_path / "two")
    path = tmp_path / "one/model.safetensors"
    assert path.read_bytes() == (tmp_path / "two/model.safetensors").read_bytes()
    before = path.stat().st_mtime_ns
    train(world, tmp_path / "one", f"--test de={world}/test.de.jsonl")
    assert path.stat().st_mtime_ns == before


MATRIX = (
    "matrix --train en={w}/train.en.jsonl,de={w}/test.de.jsonl --valid "
    "en={w}/valid.en.jsonl,de={w}/test.de.jsonl --test en={w}/test.en.jsonl,de={w}/test.2.jsonl "
    "--vectors en={w}/1.vec,de={w}/2.vec --seeds 1,2 " + QUICK
)


def test_a_matrix_has_training_sets_down_and_languages_across(world, tmp_path):
    command = MATRIX.format(w=world) + f" --sources en,en+de --output {tmp_path}/out"
    call(command)
    header, lines = table(read_record(tmp_path / "out"))
    assert header == ["model", "trained on", "en", "de"]
    models = [line[:2] for line in lines]
    assert models[:4] == [[net, row] for net in ("gcn", "lstm") for row in ("en", "en+de")]
    assert [row for _, row in models[4:]] == ["en", "en+de"]
    assert all(name.startswith("always ") for name, _ in models[4:])
    assert len(rows(tmp_path / "out", measure="F1")) == 8 * 2
    for name in ("table.md", "table.csv", "heat-map.svg", "report.html"):
        assert (tmp_path / "out" / name).is_file()


def test_a_finished_run_of_other_settings_is_compared_with_a_matrix(world, tmp_path, capsys):
    common = MATRIX.format(w=world) + " --networks gcn --sources en"
    call(f"{common} --layers 0 --output {tmp_path}/flat")
    call(f"{common} --output {tmp_path}/tree --compare {tmp_path}/flat")
    assert "gcn (flat)" in capsys.readouterr().out
    tree, flat = (read_record(tmp_path / name) for name in ("tree", "flat"))
    assert tree.provenance["inputs"]["compare flat"]["path"].endswith("flat/results.json")
    assert compared(flat.rows) == [] and not (tmp_path / "flat/paired.md").exists()
    paired = compared(tree.rows)
    assert {one["file"] for one in paired} == {"test.en.jsonl", "de.test.2.jsonl", AWAY}
    for one in paired[:2]:
        of = {"measure": "F1", "run": None, "file": one["file"]}
        sides = (values(tmp_path / name, **of) for name in ("tree", "flat"))
        assert one["gaps"] == [a - b for a, b in zip(*sides, strict=True)]
    assert len(table(tree, "paired")[1]) == 3


def test_a_run_of_other_files_or_seeds_is_not_compared(world, tmp_path, capsys):
    common = MATRIX.format(w=world).replace("2 --wid", "1 --wid") + " --networks gcn --sources en"
    call(f"{common} --output {tmp_path}/one".replace("--seeds 1,2", "--seeds 1"))
    others = f"--compare {tmp_path}/one --output {tmp_path}/two"
    for text, message in (
        (common.replace("--seeds 1,2", "--seeds 2"), "must have a seed of this run"),
        (common.replace("--sources en", "--sources de"), "must have a training set of this run"),
        (
            common.replace(f"--test en={world}/test.en.jsonl", f"--test en={world}/valid.1.jsonl"),
            "must have read the same files as this run, not another test file than",
        ),
    ):
        assert refused(f"{text} {others}", capsys).startswith(f"`--compare` one: {message}")
    call(f"{common} --seeds 1 --compare {tmp_path}/one --output {tmp_path}/two")
    call(f"{common} --seeds 1 --compare {tmp_path}/two --output {tmp_path}/four")
    record = read_json(tmp_path / "one/results.json")
    record["rows"]["columns"]["measure"] = "another"
    (tmp_path / "one/results.json").write_text(json.dumps(record))
    damaged = refused(
        f"{common} --seeds 1 --compare {tmp_path}/one --output {tmp_path}/two", capsys
    )
    assert damaged.endswith("one/results.json: must be the results of `struct matrix`")
    missing = refused(f"{common} --compare {world} --output {tmp_path}/three", capsys)
    assert missing == f"`--compare` {world}: must be a finished run of `struct matrix`"
    assert not (tmp_path / "three").exists()


def test_ablations_are_rows_of_the_first_network(world, tmp_path):
    command = (
        MATRIX.format(w=world).replace("--seeds 1,2", "--seeds 1").replace("2 --wid", "1 --wid")
    )
    call(f"{command} --sources en --ablate features,layers,prune --output {tmp_path}/out")
    models = [line[0] for line in table(read_record(tmp_path / "out"))[1]]
    assert models[:-1] == [
        "gcn",
        *(f"gcn, without {name}" for name in ("word", "pos", "entity", "relation")),
        *("gcn, L = 0", "gcn, L = 1", "gcn, L = 3"),
        *("gcn, path alone", "gcn, path and 1 edge"),
        "lstm",
    ]
    assert models[-1].startswith("always ")


def test_frozen_vectors_stay_bit_identical_and_test_files_are_opened_only_after_training(
    world, tmp_path, monkeypatch
):
    events, tables = [], []
    read, fitted, files_vectors = texts.open_binary, matrix.train, features.VectorFiles.vectors

    def opened(path):
        events.append(Path(path).name)
        return read(path)

    def vectors(self, sentences, lang):
        found = files_vectors(self, sentences, lang)
        tables.append((found.table, found.table.tobytes()))
        return found

    def training(*args, **keywords):
        found = fitted(*args, **keywords)
        events.append("trained")
        return found

    monkeypatch.setattr(texts, "open_binary", opened)
    monkeypatch.setattr(matrix, "train", training)
    monkeypatch.setattr(features.VectorFiles, "vectors", vectors)
    call(MATRIX.format(w=world) + f" --sources en --output {tmp_path}/out")
    assert len(tables) == 4
    assert all(table.tobytes() == before for table, before in tables)
    last = len(events) - 1 - events[::-1].index("trained")
    assert events.count("trained") == 4 and "train.en.jsonl" in events[:last]
    targets = {"test.en.jsonl", "test.2.jsonl", "test.de.jsonl", "2.vec"}
    assert not targets & set(events[:last]) and {"test.2.jsonl", "2.vec"} <= set(events[last:])


@pytest.mark.slow
def test_a_killed_matrix_resumes_with_equal_results(world, tmp_path, monkeypatch, capsys):
    command = MATRIX.format(w=world) + f" --sources en --output {tmp_path}"
    call(f"{command}/whole")
    fitted, done = matrix.train, []

    def killed(*args, **keywords):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return fitted(*args, **keywords)

    monkeypatch.setattr(matrix, "train", killed)
    assert main(["struct", *f"{command}/part".split()]) == 130
    monkeypatch.setattr(matrix, "train", fitted)
    call(f"{command}/part")
    one, other = (read_json(tmp_path / x / "results.json") for x in ("whole", "part"))
    assert one["rows"] == other["rows"]


class StubParser:
    """Every word hangs on the first."""

    loads = 0

    @classmethod
    def load(cls, checkpoint, data=None, device="cpu", tags=False):
        assert Path(checkpoint).is_file()
        StubParser.loads += 1
        return cls()

    def parse(self, sentences, lang, max_tokens=8192):
        return [
            types.SimpleNamespace(
                upos=["X"] * len(one),
                heads=[0, *[1] * (len(one) - 1)],
                deprels=["root", *["dep"] * (len(one) - 1)],
            )
            for one in sentences
        ]


@pytest.fixture
def parser(monkeypatch, tmp_path):
    module = types.ModuleType("fairseq_xling.tasks.predict")
    module.Parser = StubParser
    monkeypatch.setitem(sys.modules, "fairseq_xling.tasks.predict", module)
    monkeypatch.setattr(StubParser, "loads", 0)
    (tmp_path / "parser.pt").write_text("")
    return tmp_path / "parser.pt"


def test_from_marked_text_to_predictions_is_one_command(tmp_path, parser, capsys):
    (tmp_path / "en.txt").write_text(KBP37 * 3 + KBP37.replace("per:employee_of", "no_relation"))
    shutil.copy(tmp_path / "en.txt", tmp_path / "dev.txt")
    lines = [f"{word} 0.{n} 1\n" for n, word in enumerate(["thom", "of", "radiohead", "in"])]
    (tmp_path / "x.vec").write_text("".join(lines))
    common = f"--format kbp37 --trees {parser}"
    call(
        f"train --train en={tmp_path}/en.txt --valid en={tmp_path}/dev.txt {QUICK} {common} "
        f"--vectors en={tmp_path}/x.vec,de={tmp_path}/x.vec --output {tmp_path}/model"
    )
    assert StubParser.loads == 1  # for two files
    (tmp_path / "de.txt").write_text('7\t"<e1>Thom</e1> in <e2>Radiohead</e2>"\nper:new(e1,e2)\n')
    call(f"predict {tmp_path}/model de={tmp_path}/de.txt {common} --output {tmp_path}/out")
    text, label = (tmp_path / "out/de.txt").read_text().split("\n")[:2]
    assert text.startswith("7\t") and label in ("per:employee_of(e1,e2)", "no_relation(e1,e2)",
                                                "no_relation")  # fmt: skip
    scores = rows(tmp_path / "out/scores.json", row="de.txt")[0]
    assert scores["gold"] == 1 and scores["right"] == 0
    assert "labels do not occur in training and are never predicted: per:new(e1,e2) (1)" in (
        capsys.readouterr().out
    )


def test_a_finished_matrix_is_written_again_without_parsing(tmp_path, parser):
    (tmp_path / "en.txt").write_text(KBP37 * 2)
    files = " ".join(f"--{name} en={tmp_path}/en.txt" for name in ("train", "valid", "test"))
    command = (
        f"matrix {files} --format kbp37 --trees {parser} --features pos,relation --networks gcn "
        f"--seeds 1 {QUICK} --output {tmp_path}/out"
    )
    call(command)
    before = (tmp_path / "out/table.md").read_text()
    assert StubParser.loads == 1
    call(command)
    assert StubParser.loads == 1 and (tmp_path / "out/table.md").read_text() == before


def test_trees_come_from_a_conllu_file_sentence_by_sentence(tmp_path, capsys):
    (tmp_path / "en.txt").write_text(KBP37)
    words_ = ["Thom", "Yorke", "of", "Radiohead", "."]
    lines = [
        "\t".join(
            [str(n), word, "_", "X", "_", "_", str(n - 1), "dep" if n > 1 else "root", "_", "_"]
        )
        for n, word in enumerate(words_, start=1)
    ]
    (tmp_path / "en.conllu").write_text("\n".join(lines) + "\n\n")
    command = (
        f"train --train en={tmp_path}/en.txt --valid en={tmp_path}/en.txt {QUICK} --format kbp37 "
        f"--features pos,relation --trees en={tmp_path}/en.conllu --output {tmp_path}"
    )
    call(f"{command}/one")
    names = read_model(tmp_path / "one", "cpu").about.names
    assert names == {"pos": ["X"], "relation": ["dep", "root"]}
    (tmp_path / "en.conllu").write_text("\n".join(lines).replace("Yorke", "York") + "\n\n")
    call(f"{command}/two", fails="x")
    assert "en.conllu:1: must have the words of" in capsys.readouterr().err


def refused(text, capsys):
    assert main(["struct", *text.split()]) == 1
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "error" in x]
    return line.removeprefix("fairseq-xling: error: ")


def test_bad_options_and_files_are_one_line_before_anything_is_trained(world, tmp_path, capsys):
    w, out = world, tmp_path / "out"
    base = (
        f"train --train en={w}/train.en.jsonl --valid en={w}/valid.en.jsonl --output {out} {QUICK}"
    )
    vec = f"--vectors en={w}/1.vec"
    bare = write_jsonl(tmp_path / "bare.jsonl", [{**GOOD, "upos": [], "heads": [], "deprels": []}])
    none = write_jsonl(tmp_path / "none.jsonl", [{**GOOD, "relations": []}])
    for text, message in (
        (base, "`--vectors` or `--encoder` must be given, one of the two, if and only if `--featu"),
        (f"{base} {vec} --format kbp37 --task roles", "`--task` must be relations with format kb"),
        (f"{base} {vec} --task roles", f"{w}/train.en.jsonl: has no candidates for roles"),
        (f"{base} {vec} --train en={bare}", f"{bare}:1: has no tree; `--trees` names a parser"),
        (f"{base} {vec} --valid de={w}/test.de.jsonl", "`--vectors` must name a file of de, got f"),
    ):
        assert refused(text, capsys).startswith(message)
        shutil.rmtree(out, ignore_errors=True)
    only = f"train --train en={none} --valid en={none} --features pos {QUICK} --output {out}"
    assert refused(only, capsys) == f"{none}: must have at least 1 annotated pair, got 0"
    shutil.rmtree(out)
    matrix_ = f"{MATRIX.format(w=w)} --output {out} --sources"
    assert refused(f"{matrix_} en,zh", capsys).startswith("`--train` must name a file of zh, a lan")
    assert refused(f"{matrix_} en+en", capsys).startswith("`--sources` must name each language of")


def test_vectors_of_two_widths_are_refused(world, tmp_path, capsys):
    lines = [line.rsplit(" ", 1)[0] for line in (world / "2.vec").read_text().splitlines()]
    (tmp_path / "narrow.vec").write_text("\n".join(lines) + "\n")
    train(world, tmp_path / "model")
    found = refused(
        f"predict {tmp_path}/model de={world}/test.de.jsonl --vectors de={tmp_path}/narrow.vec "
        f"--output {tmp_path}/out",
        capsys,
    )
    assert found.endswith("must be 16 wide as in training, got 15")
    found = refused(
        f"train --train en={world}/train.en.jsonl,de={world}/test.de.jsonl {QUICK} --valid "
        f"en={world}/valid.en.jsonl --vectors en={world}/1.vec,de={tmp_path}/narrow.vec "
        f"--output {tmp_path}/other",
        capsys,
    )
    assert found == "`--vectors` of de: must be 16 wide as those of en, got 15"


def test_a_model_whose_vectors_have_changed_or_that_is_damaged_is_refused(world, tmp_path, capsys):
    shutil.copy(world / "1.vec", tmp_path / "own.vec")
    call(
        f"train --train en={world}/train.en.jsonl --valid en={world}/valid.en.jsonl {QUICK} "
        f"--vectors en={tmp_path}/own.vec --output {tmp_path}/model"
    )
    command = f"predict {tmp_path}/model en={world}/test.en.jsonl --output {tmp_path}/out"
    with open(tmp_path / "own.vec", "a") as file:
        file.write("more" + " 0" * 16 + "\n")
    assert refused(command, capsys).endswith("must be the file of the training; it has changed")
    path = tmp_path / "model/model.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    assert "not a safetensors file, or damaged" in refused(command, capsys)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tree_transfers_between_orders_of_words_and_the_sequence_does_not(tmp_path):
    """Two clauses: 1 is contiguous, 2 has all subjects before all objects."""
    folder = write_planted(tmp_path / "world")
    common = (
        f"matrix --train en={folder}/train.1.jsonl --valid en={folder}/valid.1.jsonl --test "
        f"en={folder}/test.1.jsonl,de={folder}/test.2.jsonl --seeds 1 --width 100 --dropout 0.2 "
        f"--vectors en={folder}/1.vec,de={folder}/2.vec --optimizer adam"
    )
    call(f"{common} --networks gcn --epochs 8 --output {tmp_path}/tree")
    call(f"{common} --networks lstm --epochs 2 --output {tmp_path}/order")
    call(f"{common} --networks gcn --features word,pos,entity --epochs 6 --output {tmp_path}/less")
    f1 = {
        (one["network"], folder, one["file"]): one["f1"]
        for folder in ("tree", "order", "less")
        for one in rows(tmp_path / folder, measure="F1")
    }
    one, two = "en.test.1.jsonl", "de.test.2.jsonl"  # of each language
    assert f1["gcn", "tree", one] >= 0.95 and f1["gcn", "tree", two] >= 0.95
    assert f1["lstm", "order", one] >= 0.95
    assert f1["lstm", "order", two] <= f1["lstm", "order", one] - 0.2
    assert f1["gcn", "less", one] <= 0.7 and f1["gcn", "less", two] <= 0.7
