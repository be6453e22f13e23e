import dataclasses
import json
import sys
from pathlib import Path

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models import transfer_encoder
from fairseq_xling.models.identity import encode_identity
from fairseq_xling.papers.transfer.parsing import PAPER, Test, parse_alphas
from fairseq_xling.papers.transfer.zero_shot import (
    PRESETS,
    Encoder,
    Matrix,
    Options,
    Setting,
    TrainSet,
    ZeroShot,
    check_encoders,
    encoders,
    grid,
    matrix,
    shift_dev,
    with_rates,
    zero_shot,
)
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.rows import select
from fairseq_xling.reports.tables import cell
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.items import parse_columns
from tests.planned_steps import digests, value
from tests.transfer_record import transfer_rows

STUDY = ZeroShot()


def test_the_grid_is_every_combination(config):
    settings = grid(config(lrs="1e-3,1e-4", head_lrs="1e-2", batch_sizes="4,8"))
    assert settings == [
        Setting(lr, 1e-2, size) for lr in (1e-3, 1e-4) for size in (4, 8)
    ]  # fmt: skip
    assert [setting.code for setting in settings][:2] == ["lr0.001-h0.01-b4", "lr0.001-h0.01-b8"]


def test_the_papers_grids_have_their_sizes():
    sizes = {
        name: len(grid(Options(**{**values, "preset": name})))
        for name, values in PRESETS.items()
        if not name.startswith("clue-")
    }
    assert sizes == {"xnli": 18, "ner": 6, "parsing": 6}
    xnli = Options(**PRESETS["xnli"])
    assert (xnli.epochs, xnli.schedule, xnli.best) == (200, "constant", 2)
    assert {s.lr for s in grid(xnli)} == {1.25e-6, 2.5e-6, 5e-6}
    assert {s.head_lr for s in grid(xnli)} == {5e-6, 2.5e-5, 1.25e-4}
    ner = Options(**PRESETS["ner"])
    assert (ner.epochs, ner.warmup, ner.schedule) == (10, 0.1, "linear")
    assert {(s.lr, s.batch_size) for s in grid(ner)} == {
        (lr, size) for lr in (2e-5, 3e-5, 5e-5) for size in (16, 32)
    }


def test_clue_is_trained_as_the_baselines_of_the_benchmark_are():
    found = {}
    for name, values in PRESETS.items():
        if name.startswith("clue-"):
            one = Options(**values)
            assert one.schedule == "linear" and len(grid(one)) == one.best == 1
            how = (one.head, one.figure, one.lrs, one.batch_sizes, one.epochs, one.warmup)
            found[name.removeprefix("clue-")] = how
    text, choice = ("classification", "accuracy"), ("multiple_choice", "accuracy")
    assert found == {
        "afqmc": (*text, "3e-5", "16", 2, 0.1),
        "cmnli": (*text, "2e-5", "32", 3, 0.1),
        "csl": (*text, "1e-5", "4", 3, 0.1),
        "tnews": (*text, "3e-5", "16", 2, 0.1),
        "iflytek": (*text, "2e-5", "32", 3, 0.1),
        "wsc": (*text, "2e-5", "8", 50, 0.1),
        "cmrc2018": ("span_qa", "em", "3e-5", "32", 2, 0.1),
        "chid": (*choice, "2e-5", "24", 3, 0.06),
        "c3": (*choice, "2e-5", "16", 8, 0.05),
    }


# A row of each file as it is published, and the texts that its head reads.
CLUE_ROWS = {
    "afqmc": ({"sentence1": "a", "sentence2": "b", "label": "0"}, ("a", "b")),
    "cmnli": ({"sentence1": "a", "sentence2": "b", "label": "neutral"}, ("a", "b")),
    "csl": ({"id": 1, "abst": "b", "keyword": ["a", "c"], "label": "0"}, ("a c", "b")),
    "tnews": ({"label": "108", "label_desc": "x", "sentence": "a", "keywords": "k"}, ("a",)),
    "iflytek": ({"label": "11", "label_des": "x", "sentence": "a"}, ("a",)),
}


@pytest.mark.parametrize("task", CLUE_ROWS)
def test_the_presets_of_clue_read_its_files(written, task):
    row, texts = CLUE_ROWS[task]
    one = Options(**PRESETS[f"clue-{task}"])
    columns = parse_columns(one.columns)
    (item,) = formats[one.format].read(written("a.json", json.dumps(row) + "\n"), columns)
    assert (item.texts, item.label) == (texts, row["label"])
    assert heads[one.head].labels_of(item) == {"label": [row["label"]]}


def test_settings_that_hang_together_pass(config):
    for preset in PRESETS.values():
        STUDY.check(config(**preset))
    STUDY.check(config())
    STUDY.check(config(encoder=(), scratch=("models/best.pt",), lrs="1e-3,1e-4", best=2))
    STUDY.check(config(shift_layer=2, shift_alpha="0.5"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": ()}, "`--encoder` must be given"),
        ({"valid": ()}, "`--valid` must be given"),
        ({"preset": "xnli", "head": "parsing"}, "`--head` must be classification with `--preset"),
        ({"metric": "f1"}, "unknown `--metric` 'f1'; known: accuracy"),
        ({"format": "conllu"}, "`--format` must be clue_wsc or json_lines or table or tsv or xnli"),
        ({"lrs": "nan"}, "`--lrs` must be different numbers above 0, got 'nan'"),
        ({"batch_sizes": "4,x"}, "`--batch-sizes` must be different whole numbers above 0, got"),
        ({"best": 2}, "`--best` must be at most the 1 settings to try, got 2"),
        ({"warmup": 1.0}, "`--warmup` must be a share below 1, got 1.0"),
        ({"shift_layer": 2}, "`--shift-dev` must have a file of 'de'"),
        ({"shift_alpha": "nan"}, "`--shift-alpha` must be auto or a number, got 'nan'"),
        ({"head_options": "size=3"}, "`--head-options`: unknown setting 'size'"),
        ({"train_args": "--x '"}, "`--train-args`: No closing quotation"),
        ({"encoder": ("none.pt",)}, "`--encoder` none.pt: no such checkpoint"),
        ({"encoder": ("=models/best.pt",)}, "`--encoder` must look like NAME=PATH, got"),
        ({"encoder": ("models/best.pt",) * 2}, "two encoders are called 'models'; name them"),
        ({"data": ("a=data", "a=models")}, "`--data` names one folder twice, got a=data, a=models"),
        ({"data": ("a=data", "b=data")}, "`--data` must say which folder is 'models''s, as in mod"),
        ({"test": ("de=de.test", "de=en.test")}, "`--test` has two files of language 'de'; name a"),
        ({"test": ("valid.de=de.test",)}, "`--test` valid.de: split must be test, also with a num"),
        ({"test": ("test1.de",)}, "`--test` must look like en=FILE, got 'test1.de'"),
        ({"test": ("test1.=de.test",)}, "language code ''"),
        ({"valid": ("en=en.dev", "de=de.test")}, "must be in one language, got en and de"),
    ],
)
def test_others_are_answered_by_one_line(config, changes, message):
    with pytest.raises(UserError) as error:
        STUDY.check(config(**changes))
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "x", "1,1", "0.1:2", "2:1:0.1", "0:1:0", "0:1:1e-4", "1,nan"])
def test_alphas_that_are_no_numbers_to_try_are_refused(text):
    rule = "must be different numbers, or FIRST:LAST:STEP with at most 1000 steps"
    with pytest.raises(UserError, match=f"`--shift-alphas` {rule}, got {text!r}"):
        parse_alphas(text)
    assert {1.5, 0.9, 0.7, 0.3, 0.5} <= set(parse_alphas(PAPER))  # those that the paper chose


def test_encoders_have_names_and_a_folder(config):
    path, data = Path("models/best.pt"), Path("data")
    assert encoders(config()) == [Encoder("models", path, data)]
    several = config(
        encoder=("one=models/best.pt", "two=models/best.pt"),
        scratch=("models/best.pt",),
        data=("one=data", "two=other", "scratch=data"),
    )
    assert encoders(several) == [
        Encoder("one", path, data),
        Encoder("two", path, Path("other")),
        Encoder("scratch", path, data, scratch=True),
    ]


def test_further_test_sets_are_named_before_the_language(config):
    test = ("en=en.test", "test1.de=de.test", "de=de.test,test12.en=en.test")
    (one,) = zero_shot(config(test=test))
    assert [test.label for test in one.tests] == ["en", "test1.de", "de", "test12.en"]
    assert [test.reads for test in one.tests] == ["en", "de", "de", "en"]
    _, own = zero_shot(config(test=test, translate_train=("de=en.train",)))
    assert [test.label for test in own.tests] == ["test1.de", "de"]
    _, own = zero_shot(config(test=test, translate_test=("test1.de=en.test",)))
    assert [(test.label, test.reads) for test in own.tests] == [("test1.de", "en")]


def test_translated_files_are_read_as_what_they_are(config):
    chosen = config(
        train=("en=en.train,de=en.train",),
        translate_test=("de=en.test",),
        translate_train=("de=en.train",),
    )
    plain, translated, own = zero_shot(chosen)
    found = [(one.name, one.sources, one.how, one.row) for one in (plain, translated, own)]
    assert found == [
        ("zero-shot", ("en", "de"), "", ""),
        ("zero-shot", ("en", "de"), "translate-test", ""),
        ("train-de", ("de",), "translate-train", ""),
    ]
    assert [(test.lang, test.reads) for test in plain.tests] == [("en", "en"), ("de", "de")]
    assert [(test.lang, test.reads) for test in translated.tests] == [("de", "en")]
    assert own.train == (("de", Path("en.train")),)
    assert own.valid == (("en", Path("en.dev")),)  # dev stays the source language's
    assert [test.lang for test in own.tests] == ["de"]
    with pytest.raises(UserError, match="`--translate-train` fr: there is no `--test` of this"):
        zero_shot(config(translate_train=("fr=en.train",)))


def test_a_matrix_has_a_model_for_each_training_language(config):
    sets = matrix(config(train=("en=en.train", "de=de.test"), valid=("en=en.dev", "de=en.dev")))
    assert [(one.train[0][0], one.row) for one in sets] == [
        ("en", "trained on en"),
        ("de", "trained on de"),
    ]
    assert all([test.lang for test in one.tests] == ["en", "de"] for one in sets)
    with pytest.raises(UserError, match="`--valid` must have a file of 'de', which is trained on"):
        matrix(config(train=("de=de.test",)))
    with pytest.raises(UserError, match="`--train` has two files of language 'en'"):
        matrix(config(train=("en=en.train", "en=en.dev")))


def test_shifted_targets_need_their_dev_file_before_anything_runs(config):
    chosen = config(shift_layer=1, shift_dev=("de=de.test",))
    assert shift_dev(chosen, zero_shot(chosen)) == (("de", Path("de.test")),)
    other = config(shift_layer=1, shift_dev=("en=en.dev",))
    with pytest.raises(UserError, match="`--shift-dev` must have a file of 'de'"):
        shift_dev(other, zero_shot(other))
    assert shift_dev(config(shift_layer=1, shift_alpha="1"), zero_shot(chosen)) == ()


@pytest.mark.parametrize("name", ["train", "test", "translate_test", "translate_train"])
def test_missing_files_are_named(config, name):
    key = "test1.de" if "test" in name else "de" if "_" in name else "en"
    with pytest.raises(UserError, match=f"`--{name.replace('_', '-')}` none: no such file"):
        STUDY.check(config(**{name: (f"{key}=none", *config().test)[: 1 + (name == "test")]}))


def test_a_language_that_an_encoder_does_not_read_is_refused(words_folder):
    def check(train, test):
        tests = (Test(test, test, Path("c")),)
        sets = TrainSet("zero-shot", ((train, Path("a")),), (("en", Path("b")),), tests)
        check_encoders(Options(), [Encoder("x", Path("x.pt"), words_folder)], [sets])

    check("en", "de")
    for languages in (("en", "fr"), ("fr", "de")):
        with pytest.raises(UserError, match=r"unknown language of .*data 'fr'; known: en, de"):
            check(*languages)


@pytest.mark.parametrize(
    ("option", "name", "deepest"), [("freeze_layers", "freeze", 2), ("shift_layer", "shift", 3)]
)
def test_layers_that_an_encoder_has_not_are_refused(config, words_folder, option, name, deepest):
    state = {
        "cfg": {
            "model": {
                **{"_name": "separable_transformer", "separate": ""},
                **{"encoder_layers": 2, "encoder_embed_dim": 8},
            },
            "task": {"_name": "bilingual_mlm"},
        },
        "model": {
            "_extra_state": encode_identity({"languages": ["en"]}),
            **{f"encoder.layers.{n}.shared.fc1.bias": torch.zeros(1) for n in range(2)},
        },
    }

    def check(layer):
        check_encoders(config(**{option: layer}), [chosen], [])

    chosen = Encoder("x", Path("models/best.pt"), words_folder)
    torch.save(state, "models/best.pt")
    for layer in (0, 2):
        check(layer)
    message = rf"`--{name}-layers?` must lie in \[0, 2\], the layers of models/best.pt, got 99"
    with pytest.raises(UserError, match=message):
        check(99)
    state["model"]["encoder.trilayer.fc1.bias"] = torch.zeros(1)
    torch.save(state, "models/best.pt")
    message = message.replace("0, 2", f"0, {deepest}")  # a TRILayer's states can be shifted, too
    check(deepest)
    with pytest.raises(UserError, match=message.replace("99", "4")):
        check(4)
    other = {"model": {"_name": "clcr"}, "task": {"_name": "clcr"}}
    torch.save({"cfg": other, "model": {}}, "models/best.pt")
    with pytest.raises(UserError, match=r"models/best.pt: contains no encoder of this project"):
        check(1)


def test_a_matrix_has_on_its_diagonal_what_supervised_training_is(config):
    files = {"train": ("en=en.train", "de=de.test"), "valid": ("en=en.dev", "de=de.test")}
    for one in matrix(config(**files)):
        own = {name: (next(f for f in found if f[:2] == one.sources[0]),) for name, found in
               files.items()}  # fmt: skip
        (alone,) = zero_shot(config(**own))
        assert (one.train, one.valid, one.tests) == (alone.train, alone.valid, alone.tests)


def plan(config, study=STUDY):
    return {step.name: step for step in study.planned(Path("run"), config).steps.values()}


def test_the_linear_schedule_ends_with_the_last_epoch(config):
    steps = plan(config(batch_sizes="4", epochs=5, warmup=0.2))
    step = steps["train-models-zero-shot-lr5e-05-b4-1"]
    assert value(step, "--total-num-update") == "15"  # 10 items are 3 batches
    assert value(step, "--warmup-updates") == "3"
    steps = plan(config(schedule="constant", warmup=0.0, head_lrs="1e-2"))
    (step,) = (step for name, step in steps.items() if name.startswith("train-"))
    assert value(step, "--lr-scheduler") == "fixed"
    assert value(step, "--head-lr") == "0.01"


def test_a_matrix_trains_once_for_each_language(config):
    chosen = config(train=("en=en.train", "de=de.test"), valid=("en=en.dev", "de=en.dev"))
    steps = plan(chosen, Matrix())
    assert [name.partition("-")[0] for name in steps] == ["train", "test"] * 2
    assert value(steps["train-models-train-de-lr5e-05-b16-1"], "--train-file") == "de=de.test"


def test_bad_rows_that_are_left_out_are_not_counted_as_items(config):
    chosen = config(epochs=1, batch_sizes="1")
    path = chosen.train[0].partition("=")[2]
    with open(path, "a", encoding="utf-8") as file:
        file.write("bad\n")
    (step, *_) = plan(dataclasses.replace(chosen, skip_bad=1)).values()
    assert value(step, "--total-num-update") == "10" and value(step, "--skip-bad") == "1"


def test_a_damaged_training_file_is_named_before_anything_runs(config):
    chosen = config()
    Path("en.train").write_text("a\tyes\nb\n")
    with pytest.raises(UserError, match=r"en.train:2: must have 2 columns"):
        plan(chosen)


def test_a_file_without_annotation_is_named_before_anything_runs(config, caplog):
    chosen = config()
    for name, option in (("en.train", "--train"), ("en.dev", "--valid")):
        before = Path(name).read_text()
        Path(name).write_text("a\nb\n")
        with pytest.raises(UserError, match=rf"`{option}` {name}: nothing in it is annotated"):
            plan(chosen)
        Path(name).write_text(before)
    rows = '{"text": "a", "label": "x"}\n{"text": "b", "label": "-"}\n{"text": "c"}\n'
    Path("en.train").write_text(rows)
    Path("en.dev").write_text(rows)
    plan(dataclasses.replace(chosen, format="json_lines"))
    assert [record.getMessage() for record in caplog.records] == [
        f"{name}: 2 of 3 items have no annotation to learn or count; the first is {name}:2"
        for name in ("en.train", "en.dev")
    ]


def test_planning_reads_no_file_to_test_on(config):
    opened = []

    def listen(event, arguments):
        if event == "open":
            opened.append(str(arguments[0]))

    chosen = config()
    sys.addaudithook(listen)  # cannot be removed again; it only adds to a list
    steps = plan(chosen)
    digests(list(steps.values()))
    assert any(name.endswith("en.train") for name in opened)
    assert not any(name.endswith(".test") for name in opened)


def test_no_training_is_given_a_file_to_test_on(config):
    chosen = config(shift_layer=1, shift_dev=("de=de.test",), translate_test=("de=en.test",))
    steps = plan(chosen)
    for step in steps.values():
        given = [str(word) for command in step.commands for word in command]
        given = [*(given if step.name.startswith("train") else ()), *map(str, step.inputs)]
        assert not [word for word in given if ".test" in word]
    assert {str(path) for path in steps["test-models-zero-shot"].unread} == {"en.test", "de.test"}


def test_another_file_that_chooses_alpha_is_another_test(config):
    chosen = config(shift_layer=1, shift_dev=("de=en.dev",), valid=("en=en.train",))
    before = digests(list(plan(chosen).values()))
    Path("en.dev").write_text("other text\tno\n")
    after = digests(list(plan(chosen).values()))
    assert {name for name in before if before[name] != after[name]} == {"test-models-zero-shot"}


def test_a_format_and_a_figure_reach_the_training_and_so_do_changed_answers(config):
    Path("zh.json").write_text(
        '{"content": ["a #idiom1# b"], "candidates": ["x", "y"]}\n', encoding="utf-8"
    )
    answers = Path("zh_answer.json")
    answers.write_text('{"#idiom1#": 0}')
    files = dict.fromkeys(("train", "valid", "test"), ("en=zh.json",))
    chosen = config(head="multiple_choice", format="chid", metric="accuracy", **files)
    steps = plan(chosen)
    (train,) = (step for name, step in steps.items() if name.startswith("train-"))
    assert value(train, "--format") == "chid"
    assert value(train, "--best-checkpoint-metric") == "accuracy"
    before = digests(list(steps.values()))
    answers.write_text('{"#idiom1#": 1}')
    after = digests(list(plan(chosen).values()))
    assert all(before[name] != after[name] for name in before)


def result(name, sources, *values, shifted=None):
    """By language the figures of a seed."""
    tests = [{"scores": {x: {"f1": y} for x, y in one.items()}} for one in values]
    for one in tests if shifted else ():
        one["shifted"] = {x: {"alpha": 1, "scores": {"f1": y}} for x, y in shifted.items()}
    return {"encoder": name, "sources": sources, "tests": tests}


def sections(*results, **config):
    """By title header and lines of the record's tables."""
    rows = transfer_rows(*results, metric="f1", languages=["en", "de", "fr"])
    record = STUDY.record(rows, Options(head="ner", **config))
    shown = {part.section.title: part.shown for part in parts(record) if part.section.table}
    return {title: (header, [list(map(cell, line)) for line in lines])
            for title, (header, lines) in shown.items()}  # fmt: skip


def shown(*results):
    return sections(*results)["f1 by language"]


def test_mean_and_gap_compare_the_targets_with_the_source():
    seeds = {"en": 80.0, "de": 60.0, "fr": 50.0}, {"en": 90.0, "de": 70.0, "fr": 60.0}
    results = result("a", ["en"], *seeds), result("b", ["de"], {"de": 50.0})
    header, rows = shown(*results)
    assert header == ["encoder", "en", "de", "fr", "mean of targets", "gap"]
    assert rows[0] == ["a", "85.0 ± 7.1", "65.0 ± 7.1", "55.0 ± 7.1", "60.0", "25.0"]
    assert rows[1] == ["b", "", "50.0", "", "", ""]
    (row,) = shown(result("a", ["en", "de"], {"en": 90.0, "de": 80.0, "fr": 70.0}))[1]
    assert row[-3:] == ["70.0", "70.0", "15.0"]  # no language that was trained on is a target


def test_rows_of_one_name_are_apart_by_what_was_trained_on():
    results = [result("a", [lang], {lang: 90.0}) for lang in ("en", "de")]
    header, rows = shown(*results)
    assert header == ["encoder", "trained on", "en", "de"]
    assert rows == [["a", "en", "90.0", ""], ["a", "de", "", "90.0"]]


def test_each_test_set_has_a_line_with_a_mean_and_a_gap_of_its_own():
    scores = {"en": 90.0, "de": 60.0, "test12.de": 30.0, "test1.en": 80.0, "test1.de": 40.0}
    one = result("ours", ["en"], scores, shifted={"test1.de": 50.0})
    assert shown(one)[1] == [
        ["ours", "90.0", "60.0", "60.0", "30.0"],
        ["ours, test1", "80.0", "40.0", "40.0", "40.0"],
        ["ours, test12", "", "30.0", "30.0", ""],
        ["ours, shifted, test1", "", "50.0", "50.0", ""],
    ]
    (shifts,) = sections(one)["Chosen shifts"][1]
    assert shifts == ["ours", "1", "test1.de", "1"]


def test_settings_are_listed_from_the_best_and_those_that_were_not_chosen_are_left_out():
    dev = [
        {"setting": setting, "seed": seed, "value": value + seed}
        for setting, value in (("a", 1.0), ("b", 3.0), ("c", 2.0))
        for seed in (1, 2)
    ]
    one = {**result("ours", ["en"], {"en": 90.0}), "dev": dev, "chosen": {"b": 4.5, "c": 3.5}}
    header, rows = sections(one, best=2)["Chosen settings"]
    assert header == ["row", "setting", "f1 on dev"]
    assert rows == [["ours", "b", "4.50 ± 0.71"], ["ours", "c", "3.50 ± 0.71"]]


@pytest.mark.parametrize("sources", [["en"], ["en", "de"]])
def test_every_row_names_what_was_trained_on_and_how_it_was_tested(sources):
    rows = transfer_rows(result("a", sources, {"en": 1.0, "fr": 2.0}), metric="f1")
    assert {row["source"] for row in rows} == {"+".join(sources)}
    assert [row["task"] for row in select(rows, {"part": "test", "measure": "f1"})] == ["en", "fr"]


@pytest.mark.parametrize(
    ("widths", "lrs", "found"),
    [((64,), "", "1e-3"), ((768,), "", "5e-5"), ((768, 64), "", "1e-3"), ((64,), "2e-4", "2e-4")],
)
def test_the_learning_rate_follows_the_narrowest_encoder(widths, lrs, found, config, monkeypatch):
    chosen = [Encoder(str(n), Path(str(n)), Path("data")) for n in widths]
    monkeypatch.setattr(transfer_encoder, "encoder_width", lambda path: int(path.name))
    assert with_rates(config(lrs=lrs), chosen).lrs == found
