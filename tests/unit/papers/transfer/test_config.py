import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.config import (
    PRESETS,
    Setting,
    TransferConfig,
    check_config,
    grid,
)
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.items import parse_columns


def test_the_grid_is_every_combination(config):
    settings = grid(config(lrs="1e-3,1e-4", head_lrs="1e-2", batch_sizes="4,8"))
    assert settings == [
        Setting(lr, 1e-2, size) for lr in (1e-3, 1e-4) for size in (4, 8)
    ]  # fmt: skip
    assert [setting.code for setting in settings][:2] == ["lr0.001-h0.01-b4", "lr0.001-h0.01-b8"]


def test_the_papers_grids_have_their_sizes():
    sizes = {
        name: len(grid(TransferConfig(**{**values, "preset": name})))
        for name, values in PRESETS.items()
        if not name.startswith("clue-")
    }
    assert sizes == {"xnli": 18, "ner": 6, "parsing": 6}
    xnli = TransferConfig(**PRESETS["xnli"])
    assert (xnli.epochs, xnli.schedule, xnli.best) == (200, "constant", 2)
    assert {s.lr for s in grid(xnli)} == {1.25e-6, 2.5e-6, 5e-6}
    assert {s.head_lr for s in grid(xnli)} == {5e-6, 2.5e-5, 1.25e-4}
    ner = TransferConfig(**PRESETS["ner"])
    assert (ner.epochs, ner.warmup, ner.schedule) == (10, 0.1, "linear")
    assert {(s.lr, s.batch_size) for s in grid(ner)} == {
        (lr, size) for lr in (2e-5, 3e-5, 5e-5) for size in (16, 32)
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_study(config, preset):
    check_config(config(**PRESETS[preset]))


def test_clue_has_a_preset_for_each_of_its_tasks_by_the_kind_of_its_head():
    of_head = {}
    for name, values in PRESETS.items():
        if name.startswith("clue-"):
            one = TransferConfig(**values)
            of_head.setdefault((one.head, one.figure), []).append(name.removeprefix("clue-"))
            assert len(grid(one)) == one.best == 1
    assert of_head == {
        ("classification", "accuracy"): ["afqmc", "cmnli", "csl", "tnews", "iflytek", "wsc"],
        ("span_qa", "em"): ["cmrc2018"],
        ("multiple_choice", "accuracy"): ["chid", "c3"],
    }


def test_the_presets_of_clue_train_as_the_baselines_of_the_benchmark_do():
    found = {}
    for name, values in PRESETS.items():
        if name.startswith("clue-"):
            one = TransferConfig(**values)
            assert one.schedule == "linear"
            how = (one.lrs, one.batch_sizes, one.epochs, one.warmup)
            found[name.removeprefix("clue-")] = how
    assert found == {
        "afqmc": ("3e-5", "16", 2, 0.1),
        "cmnli": ("2e-5", "32", 3, 0.1),
        "csl": ("1e-5", "4", 3, 0.1),
        "tnews": ("3e-5", "16", 2, 0.1),
        "iflytek": ("2e-5", "32", 3, 0.1),
        "wsc": ("2e-5", "8", 50, 0.1),
        "cmrc2018": ("3e-5", "32", 2, 0.1),
        "chid": ("2e-5", "24", 3, 0.06),
        "c3": ("2e-5", "16", 8, 0.05),
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
    one = TransferConfig(**PRESETS[f"clue-{task}"])
    columns = parse_columns(one.columns)
    (item,) = formats[one.format].read(written("a.json", json.dumps(row) + "\n"), columns)
    assert (item.texts, item.label) == (texts, row["label"])
    assert heads[one.head].labels_of(item) == {"label": [row["label"]]}


def test_settings_that_hang_together_pass(config):
    check_config(config())
    check_config(config(encoder=(), scratch=("models/best.pt",), lrs="1e-3,1e-4", best=2))
    check_config(config(shift_layer=2, shift_alpha="0.5"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": ()}, "`--encoder` must be given"),
        ({"valid": ()}, "`--valid` must be given"),
        ({"head": "classify"}, "unknown `--head` 'classify'; did you mean 'classification'"),
        (
            {"preset": "xnli", "head": "parsing"},
            "`--head` must be classification with `--preset xnli`, got parsing",
        ),
        ({"metric": "f1"}, "unknown `--metric` 'f1'; known: accuracy"),
        (
            {"format": "conllu"},
            "`--format` must be clue_wsc or json_lines or table or tsv or xnli with this head, g",
        ),
        ({"columns": "text"}, "`--columns` must look like text=0,label=1, got 'text'"),
        ({"lrs": "0"}, "`--lrs` must be different numbers above 0, got '0'"),
        (
            {"batch_sizes": "4,x"},
            "`--batch-sizes` must be different whole numbers above 0, got '4,x'",
        ),
        ({"best": 2}, "`--best` must be at most the 1 settings to try, got 2"),
        ({"warmup": 1.0}, "`--warmup` must be a share below 1, got 1.0"),
        (
            {"shift_layer": 2},
            "`--shift-alpha auto` needs `--shift-dev` of the target languages",
        ),
        ({"shift_alpha": "x"}, "`--shift-alpha` must be auto or a number, got 'x'"),
        ({"shift_alpha": "nan"}, "`--shift-alpha` must be auto or a number, got 'nan'"),
        ({"lrs": "nan"}, "`--lrs` must be different numbers above 0, got 'nan'"),
        ({"head_options": "size=3"}, "`--head-options`: unknown setting 'size'"),
        ({"train_args": "--x '"}, """`--train-args` "--x '": No closing quotation"""),
        ({"seeds": "1,1"}, "`--seeds` must be different and not negative, got '1,1'"),
    ],
)
def test_others_are_answered_by_one_line(config, changes, message):
    with pytest.raises(UserError) as error:
        check_config(config(**changes))
    assert message in str(error.value)
