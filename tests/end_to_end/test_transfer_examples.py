"""The scripts of examples/transfer run as they stand, on files named like the real ones."""

import dataclasses
import gzip
import itertools
import json
import re
import shutil
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.papers.transfer.structures.matrix import compared
from fairseq_xling.papers.transfer.zero_shot import Options
from fairseq_xling.reports.paired import in_words
from fairseq_xling.reports.record import Record, read_record, write_record
from fairseq_xling.reports.rows import by_seed
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conll09 import Conll09
from tests.end_to_end.engine import launch, run, run_script
from tests.records import rows as rows_of
from tests.transfer_record import transfer_record

EXAMPLES = Path(__file__).parents[2] / "examples" / "transfer"
TINY = "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --max-update 2"


def script(name, *arguments, folder, **settings):
    return run_script(EXAMPLES / name, *arguments, folder=folder, timeout=900, **settings)


def arrange(name, *arguments, check=True):
    """What one of the folder's programs leaves; it succeeds, unless that is not to be checked."""
    done = launch([sys.executable, str(EXAMPLES / name), *map(str, arguments)])
    assert not check or done.returncode == 0, done.stderr
    return done


def zipped(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_pairs_are_split_without_repetitions_and_without_what_is_measured(tmp_path):
    rows = [f"sentence {n}\tSatz {n}\tsource" for n in range(50)]
    (tmp_path / "pairs").write_text("\n".join([*rows, rows[3], "sentence 4\tanders\t"]) + "\n")
    (tmp_path / "measured").write_text("Satz 7\n")
    options = ["--languages", "en,de", "--valid", "10", "--without", tmp_path / "measured"]
    arrange("arrange_text.py", tmp_path / "pairs", tmp_path / "out", *options)
    sides = {
        lang: [(tmp_path / "out" / f"{split}.{lang}").read_text().splitlines() for split in SPLITS]
        for lang in ("en", "de")
    }
    assert [len(part) for part in sides["en"]] == [39, 10]
    english, german = ([*train, *valid] for train, valid in sides.values())
    assert sorted(english) == sorted({row.split("\t")[0] for row in rows} - {"sentence 7"})
    assert german == [line.replace("sentence", "Satz") for line in english]
    (tmp_path / "pairs").write_text("alone\n")
    done = arrange("arrange_text.py", tmp_path / "pairs", tmp_path / "out", check=False)
    assert done.returncode == 1 and "pairs:1: must hold two sentences" in done.stderr


SPLITS = ("train", "valid")


def test_a_column_is_written_in_small_letters_and_nothing_else(tmp_path):
    zipped(tmp_path / "de" / "val.conll.gz", "0\tDer\tB-PER\n\n1\tX\tO\n")
    arrange("arrange_tasks.py", "lower", tmp_path / "de/val.conll.gz", tmp_path / "out",
                   "--column", "1")  # fmt: skip
    assert (tmp_path / "out/de.val.conll").read_text() == "0\tder\tB-PER\n\n1\tx\tO\n"


def test_tasks_in_the_forms_of_clue_have_the_word_that_was_there_as_their_answer(tmp_path):
    text, output, lang = tmp_path / "text", tmp_path / "out", "zh"
    sizes = "--sentences 400 --held-out 60 --annotated 400 --nli 90 --spaced".split()
    run("fairseq-xling", "synthesize", str(text), "--languages", "en,zh", *sizes)
    made = []
    for _ in range(2):
        arrange("arrange_understanding.py", text, output, "--lang", lang)
        made.append({path.name: path.read_text() for path in output.iterdir()})
    assert made[0] == made[1]
    assert len(made[0]) == 4 * 3 + 3  # of each split, and the answers of ChID
    rows = [line.split("\t") for line in (text / "gold/nli.test.zh.tsv").read_text().splitlines()]
    read = {
        task: list(formats[form].read(output / f"{task}.test.json", keys))
        for task, form, keys in (
            ("cmnli", "json_lines", {"text": "sentence1", "pair": "sentence2", "label": "label"}),
            ("chid", "chid", {}),
            ("cmrc", "squad", {}),
            ("c3", "c3", {}),
        )
    }
    assert [[*item.texts, item.label] for item in read["cmnli"]] == rows
    tagged = (text / "gold/tags.test.zh.tsv").read_text().strip("\n").split("\n\n")
    sentences = {" ".join(row.split("\t")[0] for row in one.split("\n")) for one in tagged}
    for item in read["chid"]:
        filled = item.question.replace("____", item.choices[item.label])
        assert filled in sentences and len(set(item.choices)) == 4
        assert [word for word in item.choices if word in filled.split()] == [
            item.choices[item.label]
        ]
    # Whoever takes the most frequent word is right by chance, a quarter of the time.
    words = Counter(re.findall(r"^\S+", (text / "gold/tags.train.zh.tsv").read_text(), re.M))
    train = list(formats["chid"].read(output / "chid.train.json", {}))
    frequent = [max(range(4), key=lambda n, i=i: words[i.choices[n]]) == i.label for i in train]
    assert len(train) == 400 and sum(frequent) < 0.33 * 400
    entailed = [(row[0].split(), row[1]) for row in rows if row[2] == "entailment"]
    for item in read["cmrc"]:
        ((start, end),) = item.answers
        answer = item.context[start:end]
        statement = item.question.replace("____", answer)
        assert any(answer in premise for premise, text in entailed if text == statement)
        assert item.context.split().count(answer) == 1
    asked = {item.question: item for item in read["cmrc"]}
    tags = defaultdict(set)
    for line in (text / "gold/tags.train.zh.tsv").read_text().splitlines():
        for word, tag in [line.split("\t")[:2]] if line else ():
            tags[word].add(tag)
    for item in read["c3"]:
        same = asked[item.question]
        ((start, end),) = same.answers
        answer = item.choices[item.label]
        assert item.context == same.context and answer == same.context[start:end]
        assert 2 <= len(set(item.choices)) == len(item.choices) <= 4
        for word in item.choices:
            assert word in item.context.split() and word not in item.question.split()
            assert tags[word] & tags[answer]
    assert 0.5 * len(asked) < len(read["c3"]) <= len(asked)
    assert len(read["cmrc"]) >= 2
    assert len(read["chid"]) == len(tagged) == 60


@pytest.mark.slow
def test_the_synthetic_study_runs_from_nothing(tmp_path):
    short = "--languages en,de --settings A3 --seeds 1 --updates 2 --every 2 --words-limit 50"
    tasks = ["--tasks", "nli", "--task-args", "--epochs 1"]
    sizes = {"SENTENCES": "200", "HELD_OUT": "30", "PAIRS": "300", "ANNOTATED": "30"}
    script("1_synthetic.sh", "run", *short.split(), *tasks, folder=tmp_path, **sizes)
    table = " ".join((tmp_path / "run/table.md").read_text().split())
    assert "NLI, de" in table and "| A3 | Default anchors |" in table
    arrange("make_readme.py", tmp_path / "run", "--output", tmp_path / "README.md")
    page = " ".join((tmp_path / "README.md").read_text().split())
    assert "## run" in page and "seeds 1" in page and "| A3: Default anchors |" in page


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_inference_is_learned_on_encoders_that_write_each_language_for_each_other(tmp_path):
    sizes = {"SENTENCES": "150", "HELD_OUT": "20", "PAIRS": "60", "UPDATES": "2", "SEEDS": "1"}
    sizes |= {"RUNNING": "40", "TASKS": "nli,parsing"}
    options = ["run", "--task-args", "--epochs 1 --lrs 1e-3 --batch-sizes 32"]
    script("3_cdlm.sh", *options, folder=tmp_path, **sizes)
    for name in ("trained-encoders", "new-weights"):
        table = " ".join((tmp_path / "run" / name / "table.md").read_text().split())
        for pair in ("en-de", "en-zh", "en-id"):
            for task in ("NLI", "LAS"):
                assert f"| {task} | {pair} | bilingual, mapped |" in table, table
    for name in ("nli", "ner", "parsing"):
        table = (tmp_path / "run" / f"fine-tuned-{name}" / "table.md").read_text()
        assert "| trained" in table and "| new-weights" in table, table
        assert "| en | de | zh | id |" in table, table
    for name in ("cmnli", "chid", "cmrc", "c3"):
        table = (tmp_path / "run" / f"understanding-{name}" / "table.md").read_text()
        assert "| encoder | zh |" in table and "| new-weights" in table, table
    assert "done before" in script("3_cdlm.sh", *options, folder=tmp_path, **sizes)
    arrange("make_readme.py", tmp_path / "run/new-weights", "--output", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "new{seed}/checkpoint_last.pt" in page and "bilingual, mapped" in page


def text_of(corpus, lang):
    return (corpus / "mono" / f"train.{lang}.txt").read_text(encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    """The folder of real data, from the embedded corpus."""
    corpus, root = tmp_path / "corpus", tmp_path / "data"
    sizes = "--sentences 120 --held-out 20 --annotated 40 --nli 30".split()
    run("fairseq-xling", "synthesize", str(corpus), "--languages", "en,de,zh,id", *sizes)
    text = {lang: text_of(corpus, lang) for lang in ("en", "de", "zh", "id")}
    for lang in ("en", "de", "fr"):
        for split in ("train", "val"):
            zipped(root / f"multi30k/{split}.{lang}.gz", text["de" if lang == "fr" else lang])
        zipped(root / f"mono_eltec/{lang}.txt.gz", text["en" if lang == "fr" else lang])
    pairs = zip(*(text[lang].splitlines() for lang in ("en", "zh")), strict=True)
    numbered = [f"{a} {n}\t{b}{n}\tx\n" for a, b in pairs for n in range(6)]
    zipped(root / "tatoeba_en-zh/cmn.txt.gz", "".join(numbered))
    for side in ("eng", "cmn"):
        zipped(root / f"tatoeba_retrieval/tatoeba.cmn-eng.{side}.gz", "nothing\n")
    for part in ("sci", "eco", "int", "spo"):
        for lang in ("en", "id"):
            zipped(root / f"panl_bppt/{part}.{lang}.gz", 2 * text[lang])
    for split in ("train", "dev"):
        for lang in ("en", "ja"):
            zipped(
                root / f"small_parallel_enja/{split}.{lang}.gz",
                text["zh" if lang == "ja" else lang],
            )

    def tags(split, lang, *columns):
        rows = (corpus / "gold" / f"tags.{split}.{lang}.tsv").read_text().split("\n")
        cells = (["0", *row.split("\t")] if row else [] for row in rows)
        return "\n".join("\t".join(c[n] for n in columns) if c else "" for c in cells)

    for lang in ("en", "de"):
        for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test")):
            zipped(root / f"ner_wikiann/{lang}/{theirs}.conll.gz", tags(ours, lang, 0, 1, 3))
    pairs = (corpus / "dictionary/en-de.tsv").read_text()
    zipped(root / "muse_dict/en-de.0-5000.txt.gz", pairs)
    words = [row.split("\t")[0] for row in pairs.splitlines()]
    others = [f"{word} {other}\n" for word, other in itertools.pairwise(words)]
    zipped(root / "muse_dict/en-fr.0-5000.txt.gz", "".join(others))
    zipped(root / "udpos/train-en.tsv.gz", tags("train", "en", 1, 2))
    for lang, ours in zip("en de fr zh id ja".split(), "en de de zh id zh".split(), strict=True):
        zipped(root / f"udpos/dev-{lang}.tsv.gz", tags("valid", ours, 1, 2))
    for ours, theirs in (("train", "train"), ("valid", "dev"), ("test", "test")):
        trees = (corpus / "gold" / f"{ours}.en.conllu").read_text()
        zipped(root / f"ud_en_ewt/en_ewt-ud-{theirs}.conllu.gz", trees)
    zipped(root / "ud_fr_gsd/fr_gsd-ud-dev.conllu.gz", (corpus / "gold/test.de.conllu").read_text())
    sides = [f"{name}_{lang}" for lang in ("En", "Ja") for name in SICK]
    lines = ["\t".join(["data", *sides])]
    for split, ours in (("train", "train"), ("trial", "valid")):
        both = (
            (corpus / f"gold/nli.{ours}.{lang}.tsv").read_text().splitlines()
            for lang in ("en", "zh")
        )
        lines += [f"{split}\t{en}\t{ja}" for en, ja in zip(*both, strict=True)]
    zipped(root / "jsick/jsick.tsv.gz", "\n".join(lines) + "\n")
    utterance = "wake me\tO B-who\talarm\nbad tag\tO Orecurring\talarm\nrain ?\tB-what O\tweather\n"
    zipped(root / "xsid/en.train.tsv.gz", "text\tslots\tintent\n" + utterance)
    block = "# id = 1\n# text = wake\n1\twake\talarm\tB-who\n\n# id = 2\n1\t\talarm\tO\n\n"
    for lang in "en de id zh ja".split():
        zipped(root / f"xsid/{lang}.valid.conll.gz", block)
    return root


SICK = ("sentence_A", "sentence_B", "entailment_label")


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_real_study_runs_on_files_named_like_the_real_ones(data, tmp_path):
    script("encoder.sh", data, "encoder", *TINY.split(), folder=tmp_path, VOCAB="700")
    assert (tmp_path / "encoder/checkpoints/checkpoint_best.pt").is_file()
    migrated = tmp_path / "migrated"
    run(
        *("fairseq-xling", "prepare", str(migrated / "data/prepare-de"), "--languages", "en,de"),
        *("--from", str(tmp_path / "corpus"), "--vocab-size", "600", "--aligner", "none"),
    )
    run(
        *("fairseq-train", str(migrated / "data/prepare-de"), "--user-dir", str(USER_DIR)),
        *"--task cdlm --objectives mlm --arch tri_bert_tiny --criterion unified_lm".split(),
        *"--optimizer adam --lr 1e-3 --max-tokens 512 --cpu --num-workers 0".split(),
        *("--save-dir", str(migrated / "models/language-de-1-full"), *TINY.split()),
    )
    best = migrated / "models/language-de-1-full/checkpoint_best.pt"
    (tmp_path / "run-files").mkdir()
    shutil.copy(best, tmp_path / "run-files/before.pt")
    short = "--epochs 1 --seeds 1 --precision fp32".split()
    printed = script("2_real.sh", data, "encoder", "migrated", "run", *short, folder=tmp_path)
    assert "train en: 2 utterances, 1 left out" in printed
    assert "valid zh: 1 utterances, 1 left out" in printed
    names = "ner pos parsing nli slots intents ner-migrated pos-migrated".split()
    for name in names:
        table = (tmp_path / "run" / name / "table.md").read_text()
        expected = ("| migrated", "| before") if "-" in name else ("| six-", "| new-")
        assert all(row in table for row in expected), table
    assert (
        "| encoder | en | de | fr | zh | id | ja |" in (tmp_path / "run/pos/table.md").read_text()
    )


def test_records_are_drawn_as_they_are_and_vectors_share_a_space(tmp_path):
    record = '{}\t" <e1> {} </e1> of <e2> Bonn </e2> . "\nx(e1,e2)\n\n\n'
    text = record.format(1, "Ana Lee") + record.format(2, "") + record.format(3, "Bo")
    for split in ("train", "dev", "test"):
        zipped(tmp_path / f"kbp37/{split}.txt.gz", text)
    arrange("arrange_structures.py", "kbp37", tmp_path, tmp_path / "out", "--records", "8")
    lines = (tmp_path / "out/train.txt").read_text().splitlines()
    assert [line[:1] for line in lines[::4]] == ["1", "2", "3"]
    assert len((tmp_path / "out/dev.txt").read_text().splitlines()) == 2 * 4  # a quarter of 8
    first = (tmp_path / "out/train.tsv").read_text().splitlines()[0]
    assert first == "<e1> Ana Lee </e1> of <e2> Bonn </e2> .\tx(e1,e2)"
    (tmp_path / "dictionary").mkdir()
    (tmp_path / "dictionary/en-de.tsv").write_text("dog\tHund\t2\nhound\tHund\t1\ncat\tKatze\t1\n")
    arrange("arrange_structures.py", "vectors", tmp_path, tmp_path / "vec")
    rows = [
        line.split()
        for lang in ("en", "de")
        for line in (tmp_path / f"vec/{lang}.vec").read_text().splitlines()
    ]
    found = {word: [float(x) for x in values] for word, *values in rows}
    assert found["Katze"] == found["cat"]
    mean = [(a + b) / 2 for a, b in zip(found["dog"], found["hound"], strict=True)]
    assert found["Hund"] == pytest.approx(mean, abs=1e-3)


def test_the_head_is_scored_by_micro_f1_without_no_relation_in_the_form_of_a_matrix(tmp_path):
    record = '{}\t" <e1> Ana </e1> of <e2> Bonn </e2> . "\n{}\n\n\n'
    gold = ["x(e1,e2)", "no_relation", "x(e2,e1)", "y(e1,e2)"]
    files = tmp_path / "files"
    files.mkdir()
    for split in ("train", "dev", "test"):
        text = "".join(record.format(n, label) for n, label in enumerate(gold))
        (files / f"{split}.txt").write_text(text)
    config = {"head": "classification", "lrs": "3e-4", "batch_sizes": "32", "epochs": 8}
    config |= {"precision": "fp32", "seeds": "1,2"}
    origin = {"date": "2026-01-01", "machine": "a machine", "versions": {}}
    known = {**trained_on("en", "accuracy"), "config": config, "provenance": origin}
    write_json(tmp_path / "run/results.json", known)
    predicted = {1: gold, 2: ["x(e1,e2)", "x(e1,e2)", "x(e1,e2)", "no_relation"]}
    for seed, labels in predicted.items():
        folder = tmp_path / f"run/predictions/six-zero-shot/lr0.0003-b32-{seed}"
        folder.mkdir(parents=True)
        lines = [f"<e1> Ana </e1> of <e2> Bonn </e2> .\t{label}\n" for label in labels]
        (folder / "en.tsv").write_text("".join(lines))
    arrange("arrange_structures.py", "head", tmp_path / "run", tmp_path / "head", "--files", files)
    scores = {one["seed"]: one for one in rows_of(tmp_path / "head", measure="F1")}
    assert scores[1]["f1"] == 1
    # One of three predicted is right, of three that are annotated.
    assert (scores[2]["right"], scores[2]["predicted"], scores[2]["gold"]) == (1, 3, 3)
    assert scores[2]["f1"] == pytest.approx(1 / 3)
    arrange("make_readme.py", tmp_path / "head", "--output", tmp_path / "README.md")
    assert "| classification head | en | 66.7 ± 47.1 |" in (tmp_path / "README.md").read_text()
    # A matrix of the same files.
    (tmp_path / "x.vec").write_text("Ana 0.1 0.2\nBonn 0.3 0.1\n")
    run(
        *"fairseq-xling struct matrix --format kbp37 --networks gcn --layers 0 --seeds 1,2".split(),
        *"--features word --epochs 1 --width 4 --hidden 4".split(),
        *("--train", f"en={files}/train.txt", "--valid", f"en={files}/dev.txt"),
        *("--test", f"en={files}/test.txt", "--vectors", f"en={tmp_path}/x.vec"),
        *("--compare", str(tmp_path / "head"), "--output", str(tmp_path / "words")),
    )
    (one,) = compared(read_record(tmp_path / "words").rows)
    assert one["other"] == "classification head" and one["seeds"] == [1, 2]
    arrange("make_readme.py", tmp_path / "words", "--output", tmp_path / "README.md")
    page = (tmp_path / "README.md").read_text()
    assert f"- gcn over classification head (head), trained on en: {in_words(one)}" in page


STRUCTURE = {
    "words": ["Ana", "Lee", "sah", "den", "Hund", "rennen"],
    "upos": ["PROPN", "PROPN", "VERB", "DET", "NOUN", "VERB"],
    "heads": [3, 1, 0, 5, 3, 3],
    "entities": [{"span": [0, 2], "type": "PER"}, {"span": [3, 5], "type": "ANIMAL"}],
    "triggers": [{"span": [5, 6]}, {"span": [2, 3]}],  # in any order
    "arguments": [
        {"trigger": 1, "entity": 0, "role": "Agent"},
        {"trigger": 1, "entity": 1, "role": "Theme"},
        {"trigger": 0, "entity": 1, "role": "Agent"},
    ],
}


def written_events(folder, what, *structures, split="test", lang="de"):
    """The file that `frames` or `senses` makes of these structures."""
    (folder / "gold").mkdir(exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in structures)
    (folder / f"gold/structures.{split}.{lang}.jsonl").write_text(lines)
    arrange("arrange_structures.py", what, folder, folder / what)
    return folder / what / f"frames.{split}.{lang}.conll"


def test_events_are_frames_of_conll_2009(tmp_path):
    items = list(Conll09.read(written_events(tmp_path, "frames", STRUCTURE, STRUCTURE), {}))
    assert len(items) == 2 and items[0].words == tuple(STRUCTURE["words"])
    assert items[0].predicates == (2, 5)
    see, run_ = items[0].roles
    assert see == ("Agent", "_", "_", "_", "Theme", "_")
    assert run_ == ("_", "_", "_", "_", "Agent", "_")
    assert items[0].senses == ("sah.01", "rennen.01")


def test_the_sense_of_a_verb_is_the_type_of_what_acts(tmp_path):
    nobody = {**STRUCTURE, "arguments": STRUCTURE["arguments"][1:]}
    items = list(Conll09.read(written_events(tmp_path, "senses", STRUCTURE, nobody), {}))
    assert items[0].senses == ("sah.PER", "rennen.ANIMAL")
    assert items[1].senses == ("sah.NONE", "rennen.ANIMAL")
    assert items[0].roles[1] == ("_", "_", "_", "_", "Agent", "_")


def test_senses_are_counted_next_to_the_most_frequent_one_of_each_verb(tmp_path):
    nobody = {**STRUCTURE, "arguments": STRUCTURE["arguments"][1:]}
    train = written_events(tmp_path, "senses", STRUCTURE, STRUCTURE, nobody, split="train")
    test = written_events(tmp_path, "senses", nobody, nobody)
    found = tmp_path / "run/predictions/x-zero-shot/lr0.1-b8-7/de.conll09"
    found.parent.mkdir(parents=True)
    found.write_text(test.read_text().replace("NONE", "PER", 1))
    config = {**dataclasses.asdict(Options()), "head": "srl", "seeds": "7"}
    config |= {"train": [f"de={train}"], "test": [f"de={test}"]}
    write_json(tmp_path / "run/results.json", {**trained_on("de", "f1"), "config": config})
    arrange("arrange_structures.py", "sense-scores", tmp_path / "run", tmp_path / "out")
    found = rows_of(tmp_path / "out", measure="accuracy", target="de")
    assert len(found) == len(rows_of(tmp_path / "out"))
    scores = {one["row"]: one["value"] for one in found}
    assert scores == {"predicted": 75, "most frequent": 50}


def trained_on(lang, metric):
    """What a run of `eval transfer` leaves of a model that was trained on it."""
    one = {"sources": [lang], "tests": [{"scores": {lang: {metric: 1.0}}}]}
    return transfer_record(one, metric=metric)


def test_scores_of_baselines_are_put_together_by_seed(tmp_path):
    given = {
        "head": "parsing",
        "train": ["en=a"],
        "valid": ["en=b"],
        "test": ["en=c"],
        "seeds": "1,2",
    }
    write_json(tmp_path / "run/results.json", {**trained_on("en", "las"), "config": given})
    for seed in (1, 2):
        found = tmp_path / f"files/{seed}/found/scores.json"
        row = {"target": "en", "measure": "las", "value": 10.0 * seed}
        write_record(found, Record("Predictions", [row]))
    options = ["--files", tmp_path / "files", "--epochs", 5]
    arrange("arrange_structures.py", "bilstm", tmp_path / "run", tmp_path / "out", *options)
    table = (tmp_path / "out/table.md").read_text()
    assert "| BiLSTM | 15.0 ± 7.1 |" in table and "5 epochs" in table


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_measure_of_one_encoder_runs_from_nothing_and_makes_its_section(tmp_path):
    sizes = {"SENTENCES": "300", "HELD_OUT": "40", "ANNOTATED": "40", "STRUCTURES": "30"}
    few = {"UPDATES": "3", "SMALL_UPDATES": "2", "SIZES": "100", "SEEDS": "1", "EPOCHS": "1"}
    few |= {"SIMILAR": "100", "ALIGNED": "100"}
    script("6_measures.sh", "run", folder=tmp_path, **sizes, **few)
    arrange("make_readme.py", tmp_path / "run", "--output", tmp_path / "README.md")
    page = (tmp_path / "README.md").read_text()
    for row in ("S6", "S14", "E5", "E7", "E8", "E11", "E14"):
        assert f"| {row} " in page, row
    for start in ("en-de, new weights", "German | layer", "en-de | iterative", "states, mapped",
                  "roles and senses, F1", "BiLSTM, LAS", "BiLSTM, F1 of roles"):  # fmt: skip
        assert f"| {start}" in page, start
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoint*.pt")}
    script("6_measures.sh", "run", folder=tmp_path, **sizes, **few)
    assert before and all(path.stat().st_mtime_ns == when for path, when in before.items())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_words_are_mapped_without_pairs_and_each_seed_has_its_rows(data, tmp_path):
    sizes = {"VOCAB": "300", "EPOCHS": "1", "MAP_WORDS": "512", "SEEDS": "1,2"}
    script("9_word_maps.sh", data, "run", folder=tmp_path, **sizes)
    for lang in ("en_2", "fr"):
        own = by_seed(rows_of(tmp_path / f"run/en-{lang}.json", measure="P@1"), "row")
        seeds = {row: [*found] for (row,), found in own.items()}
        assert seeds == {"mapped": [1, 2], "unmapped": [1, 2]}
    arrange("make_readme.py", tmp_path / "run", "--output", tmp_path / "README.md")
    page = (tmp_path / "README.md").read_text().partition("## run")[2]
    assert page.count("| T11 ") == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_segments_of_novels_are_long_or_short_in_the_same_text(data, tmp_path):
    sizes = {"SIZES": "60", "CONTEXTS": "60", "WINDOWS": "16,4", "UPDATES": "2", "VALID": "20"}
    script("10_long_context.sh", data, "run", folder=tmp_path, SEEDS="1,2", **sizes)
    own = by_seed(rows_of(tmp_path / "run", measure="word_mrr"), "window", "target")
    assert {key: [*seeds] for key, seeds in own.items()} == {
        (window, target): [1, 2] for window in (16, 4) for target in ("de", "fr")
    }
    lengths = {
        window: read_json(tmp_path / f"run/data/size60-window{window}/meta.json")["mono"]["train"]
        for window in (16, 4)
    }
    for lang in ("en", "de", "fr"):
        long, short = (lengths[window][lang] for window in (16, 4))
        assert short["sentences"] > 3 * long["sentences"]


SMALL_TAGGER = """--sentences 20 --valid-sentences 10 --few 5 --held-out 5 --vector-epochs 1
--epochs 1 --dim 8 --seeds 1,2""".split()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_language_stands_for_two_in_tagging(tmp_path):
    sizes = {"TWICE": "yes", "SENTENCES": "160", "HELD_OUT": "40", "ANNOTATED": "80"}
    short = [*SMALL_TAGGER, "--map-args=--epochs=1 --epoch-size=512"]
    script("4_adversarial.sh", "run", *short, folder=tmp_path, **sizes)
    whole = tmp_path / "run-text/all/gold/tags.train.en.tsv"
    check_halves(tmp_path, "tsv", [40, 40], whole.read_text())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_names_of_one_language_stand_for_two_over_words_of_novels(data, tmp_path):
    short = [*SMALL_TAGGER, "--map-args=--epochs=1 --epoch-size=512 --most-frequent=100"]
    script("4_adversarial.sh", "run", *short, folder=tmp_path, DATA=data, TWICE="yes")
    with gzip.open(data / "ner_wikiann/en/train.conll.gz", "rt", encoding="utf-8") as file:
        whole = file.read()
    count = len(whole.strip().split("\n\n"))
    check_halves(tmp_path, "conll", [count - count // 2, count // 2], whole)


def check_halves(folder, form, sizes, whole):
    """Each side has every other sentence, and a score for each row and seed."""
    sides = ((folder / f"run-text/train.{lang}.{form}").read_text() for lang in ("en", "en_2"))
    halves = [[part for part in text.split("\n\n") if part] for text in sides]
    assert [len(half) for half in halves] == sizes
    joined = itertools.chain(*itertools.zip_longest(*halves))
    assert [part for part in joined if part] == whole.strip().split("\n\n")
    own = rows_of(folder / "run", measure="target", task=None)
    assert {row: [*seeds] for row, seeds in by_seed(own, "row").items()} == {
        (row,): [1, 2] for row in "1234"
    }
