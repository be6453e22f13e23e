import argparse
import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.papers.mbert.size_window import PRESETS, Options, SizeWindow
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.workflow.options import load_config
from fairseq_xling.workflow.recipe import Cell
from fairseq_xling.workflow.step import Plan
from tests.planned_steps import digests, value
from tests.records import table, write_transfer

STUDY = SizeWindow()


@pytest.fixture
def text(tmp_path):
    for name in ("mono", "dictionary"):
        (tmp_path / "text" / name).mkdir(parents=True)
    for lang in PRESETS["paper"]["languages"].split(","):
        (tmp_path / "text" / "mono" / f"train.{lang}.txt").write_text("a\n")
        (tmp_path / "text" / "dictionary" / f"en-{lang}.tsv").write_text("a\tb\n")
    return tmp_path / "text"


@pytest.fixture
def config(text):
    def make(**changes):
        given = {"sizes": "10,20", "windows": "4,16", "updates": 4, "every": 2, **changes}
        return Options(data_text=str(text), **given)

    return make


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_text": "nowhere"}, "`--data-text` must be a folder with text in mono/"),
        ({"languages": "en"}, "`--languages` must name at least two, got 'en'"),
        ({"models": "glove,bert"}, "unknown `--models` 'bert'"),
        ({"windows": "8"}, "`--windows` must name at least two, got '8'"),
        ({"max_tokens": 17}, "`--max-tokens` must fit a segment and two symbols, got 17"),
        ({"every": 3}, "`--updates` must be a multiple of `--every`, got 4 and 3"),
        ({"dictionary": "none.tsv"}, r"none\.tsv: no such file"),
        ({"languages": "en,xx"}, r"has no dictionary en-xx\.tsv"),
        ({"segment": "fr=chars"}, "unknown segmentation 'chars'; did you mean 'char'"),
        ({"train_args": "'"}, '`--train-args`: No closing quotation, got "\'"'),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_runs(
    config, changes, message, tmp_path
):
    with pytest.raises(UserError, match=message):
        STUDY.steps(tmp_path, STUDY.check(dataclasses.replace(config(), **changes)))


def test_it_reads_the_text_of_its_languages_and_nothing_else_of_the_folder(config, text, tmp_path):
    (text / "gold").mkdir()
    (text / "gold" / "tags").write_text("x")
    outside = Plan(STUDY.steps(tmp_path / "run", config())).outside["prepare"]
    names = {path.relative_to(text).as_posix() for path in outside}
    assert names == {"mono/train.en.txt", "mono/train.de.txt", "dictionary/en-de.tsv"}
    (text / "mono" / "train.de.txt").unlink()
    with pytest.raises(UserError, match=r"text: has no training text of 'de', mono/train\.de\.txt"):
        Plan(STUDY.steps(tmp_path / "run", config()))


def test_models_learn_the_tasks_that_they_can_in_the_first_language(config, text, tmp_path):
    (text / "gold").mkdir()
    for split, langs in (("train", ["en"]), ("valid", ["en"]), ("test", ["en", "de"])):
        for lang in langs:
            (text / "gold" / f"nli.{split}.{lang}.tsv").write_text("a\tb\tx\n")
    chosen = config(tasks="nli", task_args="--seeds 1,2")
    STUDY.check(chosen)
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", chosen)}
    names = {name for name in steps if name.startswith("nli-")}
    models = ("encoder", "glove", "word2vec")
    assert names == {f"nli-{m}-{size}-{w}-1" for m in models for size in (10, 20) for w in (16, 4)}
    (command,) = steps["nli-encoder-20-4-1"].commands
    assert command[-2:] == ["--seeds", "1,2"]
    assert value(steps["nli-encoder-20-4-1"], "--head") == "classification"
    assert steps["nli-encoder-20-4-1"].reads(steps["train-encoder-20-4-1"])
    assert steps["table"].reads(steps["nli-encoder-20-4-1"])
    for model in ("glove", "encoder"):  # a table reads a task's result wherever it comes from
        step = steps[f"nli-{model}-20-4-1"]
        assert step.outputs == [tmp_path / "run" / "tasks" / f"nli-{model}-20-4-1"]
        held = Plan(list(steps.values())).unread[step.name]
        assert {path.name for path in held} == {"nli.test.en.tsv", "nli.test.de.tsv"}
    STUDY.check(config(tasks="nli", models="glove"))
    for split, langs in (("train", ["en"]), ("valid", ["en"]), ("test", ["en", "de"])):
        for lang in langs:
            (text / "gold" / f"{split}.{lang}.conllu").write_text("")
    message = "`--tasks` parsing needs the model encoder, got `--models` glove"
    with pytest.raises(UserError, match=message):
        STUDY.check(config(tasks="parsing", models="glove"))
    with pytest.raises(UserError, match=r"tags\.train\.en\.tsv: no such file; the task NER F1"):
        STUDY.check(config(tasks="ner"))


def test_a_task_of_ones_own_is_learnt_on_vectors_and_by_encoders(config, text, tmp_path):
    file = text / "pairs.tsv"
    file.write_text("a\tb\tx\n")
    own = {f"task_{split}": (f"en={file}",) for split in ("train", "valid")}
    own |= {"task_head": "classification", "task_columns": "text=0,pair=1,label=2"}
    chosen = config(**own, task_test=(f"en={file}", f"de={file}"), models="glove,encoder")
    STUDY.check(chosen)
    steps = STUDY.steps(tmp_path, chosen)
    known = digests(steps)
    for model in ("glove", "encoder"):
        assert f"own-{model}-20-4-1" in known
    changed = dataclasses.replace(chosen, task_columns="text=1,pair=0,label=2")
    name = "own-glove-20-4-1"
    assert digests(STUDY.steps(tmp_path, changed))[name] != known[name]


def test_the_papers_sizes_are_a_preset_that_options_change(text, tmp_path):
    given = {"config": None, "preset": "paper", "data_text": str(text), "sizes": "10,20"}
    config = load_config(Options, argparse.Namespace(**given, tasks=""), PRESETS)
    STUDY.check(config)
    with pytest.raises(UserError, match=r"nli\.train\.en\.tsv: no such file"):
        STUDY.check(load_config(Options, argparse.Namespace(**given), PRESETS))
    steps = {step.name: step for step in STUDY.steps(tmp_path, config)}
    assert value(steps["train-encoder-20-20-1"], "--max-positions") == "514"  # for all windows


def record(cells):
    return STUDY.record(STUDY.rows(cells), Options())


def cells(folder, values):
    """A cell for each (model, size, window, seed), with the MRR of de and zh."""
    found = []
    for (model, size, window, seed), (german, chinese) in values.items():
        path = folder / f"{model}-{size}-{window}-{seed}.json"
        words = {"task": "words", "layer": 0, "best": 1}
        scores = {"de": german, "zh": chinese}
        rows = [
            {**words, "target": lang, "measure": measure, "value": score}
            for lang, score in scores.items()
            for measure in ("MRR", "P@1")
        ]
        write_record(path, Record("", rows))
        about = {"row": model.upper(), "sentences": size, "window": window, "seed": seed}
        found += [Cell({**about, "target": lang}, {"words": path}) for lang in scores]
    return found


def test_the_table_has_means_over_languages_and_what_the_short_window_loses(tmp_path):
    made = cells(
        tmp_path,
        {
            ("a", 10, 16, 1): (0.4, 0.6),
            ("a", 10, 4, 1): (0.3, 0.5),
            ("a", 10, 16, 2): (0.6, 0.8),
            ("a", 10, 4, 2): (0.3, 0.5),
            ("b", 10, 16, 1): (0.0, 0.0),
            ("b", 10, 4, 1): (0.1, 0.1),
        },
    )
    header, rows = table(record(made))
    assert header == ["model", "sentences", "MRR, window 16", "MRR, window 4", "drop (%)"]
    assert rows[0] == ["A", "10", "0.600 ± 0.141", "0.400 ± 0.000", "+33.3"]
    assert rows[1] == ["B", "10", "0.000", "0.100", ""]


def test_a_task_has_its_columns_and_its_drop_where_it_is_learnt(tmp_path):
    values = {("a", 10, 16, 1): (0.4, 0.6), ("a", 10, 4, 1): (0.3, 0.5)}
    made = cells(tmp_path, values)
    for window, scores in ((16, (80.0, 60.0)), (4, (60.0, 59.0))):
        made += cells(tmp_path, {("b", 10, window, 1): (0.5, 0.5)})
        tests = [dict(zip(("de", "zh"), (y + n for y in scores), strict=True)) for n in (-1, 1)]
        folder = write_transfer(tmp_path / f"nli-b-{window}", "accuracy", *tests)
        for one in made[-2:]:
            about = {**one.about, "measure": "nli", "task": "NLI"}
            made.append(Cell(about, {"transfer": folder}))
    header, rows = table(record(made))
    assert header[5:] == ["NLI (%), window 16", "NLI (%), window 4", "drop of NLI (%)"]
    assert rows[0][2:] == ["0.500", "0.400", "+20.0", "", "", ""]
    assert rows[1][2:] == ["0.500", "0.500", "+0.0", "70.0", "59.5", "+15.0"]
    STUDY.write(tmp_path / "run", Options(), made, [])
    inputs = read_json(tmp_path / "run/results.json")["provenance"]["inputs"]
    read = [one["path"] for one in inputs.values()]  # each once, of a folder the results in it
    assert len(set(read)) == len(read) == 6 and str(folder / "results.json") in read


def test_contexts_of_their_own_are_cut_in_every_window(config, tmp_path):
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", config(contexts=7))}
    assert {name for name in steps if name.startswith("slice-7-")} == {"slice-7-16", "slice-7-4"}
    assert steps["eval-glove-10-16-1"].reads(steps["slice-7-16"])
    assert value(steps["eval-encoder-10-16-1"], "--data").endswith("size7-window16")


def test_an_existing_encoder_is_a_row_that_is_only_evaluated(config, text, tmp_path, tiny_corpus):
    checkpoint = tmp_path / "other.pt"
    checkpoint.write_bytes(b"x")
    chosen = config(ready=(f"mbert={checkpoint}:{tiny_corpus.path}",), models="glove")
    STUDY.check(chosen)
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", chosen)}
    assert [name for name in steps if "mbert" in name] == ["eval-ready-mbert"]
    (command,) = steps["eval-ready-mbert"].commands
    assert {str(checkpoint), str(tiny_corpus.path)} <= set(command)
    assert steps["table"].reads(steps["eval-ready-mbert"])
    made = cells(tmp_path, {("a", 10, 16, 1): (0.4, 0.6), ("a", 10, 4, 1): (0.3, 0.5)})
    made += cells(tmp_path, {("mbert", None, None, 1): (0.9, 0.7)})
    _, rows = table(record(made))
    assert rows[1] == ["MBERT", "", "0.800", "", ""]
    for ready, message in (
        *(
            (text, "`--ready` must be NAME=CHECKPOINT:DATA, each with another name")
            for text in ("mbert=x.pt", f"glove={checkpoint}:d", f"a/b={checkpoint}:d")
        ),
        (f"mbert=x.pt:{tiny_corpus.path}", "`--ready` mbert: x.pt: no such file"),
    ):
        with pytest.raises(UserError, match=message):
            STUDY.check(config(ready=(ready,), models="glove"))
    with pytest.raises(UserError, match=r"`--ready` mbert: .* has no language 'tr'"):
        (text / "mono" / "train.tr.txt").write_text("a\n")
        STUDY.check(config(ready=(f"mbert={checkpoint}:{tiny_corpus.path}",), languages="en,tr"))


def test_every_field_of_the_papers_preset():
    """Liu et al. (2020), Section 3.2; fields without a mark are not the paper's."""
    given = Options(**PRESETS["paper"], preset="paper")
    assert dataclasses.asdict(given) == {
        **dataclasses.asdict(Options()),
        "tasks": "nli",  # and words
        "preset": "paper",
        "languages": "en,ar,bg,de,el,es,fr,hi,ru,sw,th,tr,ur,vi,zh",  # those of XNLI
        "models": "glove,word2vec,encoder",  # 3.2
        "sizes": "200000,1000000",  # sentences of each language
        "windows": "512,20",  # tokens
        "vocab": "joint",
        "vocab_type": "wordpiece",  # mBERT's, cased
        "vocab_size": 119_547,  # mBERT's
        "dim": 768,  # as mBERT
        "arch": "separable_transformer_base",
        "layers": 12,  # as mBERT
        "max_tokens": 8192,
        "lr": 1e-4,
        "device": "cuda",
    }


def test_every_size_may_have_as_many_passes_over_its_text(config, tmp_path):
    sizes = {"sizes": "10,40", "updates": 20, "every": 10, "models": "encoder", "windows": "8,4"}
    for equal, wanted in (("updates", ["20", "20"]), ("passes", ["20", "80"])):
        made = STUDY.steps(tmp_path / "run", config(**sizes, equal=equal))
        steps = {step.name: step for step in made}
        found = [value(steps[f"train-encoder-{size}-8-1"], "--max-update") for size in (10, 40)]
        assert found == wanted
