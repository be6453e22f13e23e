"""What models share: settings, plan, subset of a text, table."""

import argparse
import dataclasses
import itertools
from types import SimpleNamespace

import pytest
from fairseq.models import ARCH_CONFIG_REGISTRY

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.separable_transformer import SeparableTransformerConfig
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.papers.emerging.sharing import (
    PRESETS,
    SETTINGS,
    WORDS,
    EmergingStructure,
    Options,
    write_subset,
)
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.workflow.options import load_config
from fairseq_xling.workflow.recipe import Cell
from tests.planned_steps import value
from tests.records import table, write_transfer
from tests.unit.studies.paper_fields import TRAINING

STUDY = EmergingStructure()


def by_code(layers):
    return {setting.code: setting.at_depth(layers) for setting in SETTINGS}


def test_eight_layers_are_the_papers():
    settings = by_code(8)
    assert [*settings] == [*(f"A{n}" for n in range(1, 11)), "A5-union", "C", "T"]
    assert settings["A7"].name == "Sep Emb + L1-3"
    assert settings["A8"].separate == "emb,1-6"
    assert settings["A10"].separate == "1-6"
    assert settings["C"].separate == "emb,1-8"
    assert settings["T"].separate == "4-8"


def test_plans_are_valid_at_every_depth_and_random_tokens_stay_where_something_is_private():
    for layers in (1, 2, 4, 6, 8, 12, 24):
        for setting in by_code(layers).values():
            private = bool(setting.separate)
            assert SharingPlan.parse(setting.separate, layers).any == private
            assert ("--random-within-language" in setting.train_options()) == private
            assert setting.separate.startswith("emb") == (setting.vocab == "separate")


def test_anchor_settings_differ_in_anchors_only():
    settings = by_code(8)
    codes = ("A3", "A4", "A5-union")
    assert [settings[code].vocab for code in codes] == ["union", "prefixed", "union"]
    assert settings["A5"].needs == settings["A5-union"].needs == WORDS
    assert settings["A3"].train_options() == settings["A4"].train_options() == []


# Conneau et al. (2020), Table 1, column "BPE merges"; from A6 on, nothing else has an 80k one.
TABLE = {"A1": "80k", "A2": "80k", "A3": "40k/40k", "A4": "40k/40k", "A5": "80k"}
TABLE |= {f"A{n}": "40k/40k" for n in range(6, 11)}


@pytest.mark.parametrize(("code", "cell"), TABLE.items())
def test_every_setting_has_the_vocabulary_of_the_papers_table(code, cell, tmp_path):
    """As the table shows it, and as the data folder of its model is made."""
    setting = by_code(8)[code]
    assert setting.bpe(80_000) == cell.replace("k", ",000")
    for lang in ("en", "de"):
        for file in (f"mono/train.{lang}.txt", f"other/mono/train.{lang}.txt", "en-de.tsv"):
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("a\n")
    config = Options(
        data_text=str(tmp_path), other_text=str(tmp_path / "other"), dictionary=str(tmp_path),
        vocab_size=80_000, layers=8, seeds="1", settings=code,
    )  # fmt: skip
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", config)}
    (prepare,) = (step for name, step in steps.items() if name.startswith("prepare-"))
    (command,) = prepare.commands
    words = dict(itertools.pairwise(command))
    sizes = [f"{int(words['--vocab-size']) // 1000}k"]
    assert "/".join(sizes * (1 if words["--vocab"] == "joint" else 2)) == cell
    train = steps[f"train-{code}-en-de-1"].commands[0]
    assert train[1] == command[2]  # the model reads the folder that is prepared


@pytest.fixture
def load(tmp_path):
    """``load(**options)``: the settings of a command line, over text of all of the paper's
    languages."""
    for lang in ("en", "fr", "ru", "zh", "de"):
        for file in (f"mono/train.{lang}.txt", f"dictionary/en-{lang}.tsv"):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text("a\tb\n")
        for split in ("train", "valid", "test"):
            (tmp_path / "gold").mkdir(exist_ok=True)
            for file in ("nli.{}.{}.tsv", "tags.{}.{}.tsv", "{}.{}.conllu"):
                (tmp_path / "gold" / file.format(split, lang)).write_text("")

    def call(**options):
        given = {"data_text": str(tmp_path), "config": None, **options}
        return STUDY.check(load_config(Options, argparse.Namespace(**given), PRESETS))

    return call


def test_every_field_of_the_paper_preset(load, tmp_path):
    """Conneau et al. (2020), Sections 3.1 and 3.2; fields without a mark are not the paper's."""
    assert dataclasses.asdict(load(preset="paper")) == {
        **dataclasses.asdict(Options()),
        **TRAINING,
        "preset": "paper",
        "data_text": str(tmp_path),
        "languages": "en,fr,ru,zh",  # Table 1
        "seeds": "1,2,3",
        "updates": 416_667,  # 200 epochs of 200k in batches of 96; a process has its own
        "every": 2083,
        "words_limit": 5000,
        "tasks": "nli,ner,parsing",
        "task_settings": "paper",
    }


def test_the_commands_of_the_paper_preset(load, tmp_path):
    config = load(preset="paper", languages="en,fr", seeds="1", settings="A1")
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", config)}
    (train,) = steps["train-A1-en-fr-1"].commands
    given = " ".join(train)
    assert " --batch-size 96 --distributed-world-size 8 " in given and given.endswith(" --fp16")
    assert "--max-tokens" not in train and "--update-freq" not in train and "--cpu" not in train
    for task, preset in (("nli", "xnli"), ("ner", "ner"), ("parsing", "parsing")):
        assert value(steps[f"{task}-A1-en-fr-1"], "--preset") == preset
        assert "--lrs" not in steps[f"{task}-A1-en-fr-1"].commands[0]


def test_the_architecture_of_the_paper_preset():
    args = SimpleNamespace()
    ARCH_CONFIG_REGISTRY["separable_transformer_base"](args)
    default = SeparableTransformerConfig()
    sizes = (args.encoder_layers, args.encoder_embed_dim, args.encoder_ffn_embed_dim)
    assert sizes == (8, 768, 3072)
    assert (args.encoder_attention_heads, args.max_positions) == (12, 256)
    assert (default.dropout, default.attention_dropout) == (0.1, 0.1)
    assert not default.language_embeddings


def test_an_epoch_is_counted_in_batches_or_in_sentences(load):
    literal = load(preset="paper", epoch_unit="batches")
    assert (literal.updates, literal.every) == (40_000_000, 200_000)
    one = load(preset="paper", processes="1", update_freq="8")
    assert (one.updates, one.every) == (416_667, 2083)
    cpu = load(
        epochs="3", epoch_size="100", batch_size="10", update_freq="2", epoch_unit="sentences"
    )
    assert (cpu.updates, cpu.every) == (30, 10)
    assert (load(updates="10", every="5").updates, load().every) == (10, 200)


def test_streams_are_an_option_and_sentences_the_default(load):
    assert load().training.rows == ["--sample-break-mode", "sentence", "--max-tokens", "2048"]
    assert load(block="64").training.rows == [
        *("--sample-break-mode", "none", "--tokens-per-sample", "64", "--max-tokens", "2048")
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 2}, "`--epoch-unit sentences` needs `--batch-size`, got 0"),
        (
            {"epochs": 2, "batch_size": 96, "epoch_size": 90},
            "`--epoch-size` must be at least the 96 rows of a batch, got 90",
        ),
        ({"max_tokens": 0}, "`--batch-size` or `--max-tokens` must be above 0"),
        ({"block": 1}, "`--block` must be 0 or at least 2, got 1"),
        ({"processes": 2}, "`--processes` must be at most 1 on a CPU, got 2"),
        ({"updates": 5, "every": 2}, "`--updates` must be a multiple of `--every`, got 5 and 2"),
        ({"test_splits": "test,dev"}, "`--test-splits`: split must be test, also with a number, "),
        ({"test_splits": ""}, "`--test-splits` must name one or several different sets, got ''"),
        ({"test_splits": "test,test1"}, "`--test-splits` test1: "),
    ],
)
def test_sizes_that_do_not_fit_are_refused(load, options, message, tmp_path):
    with pytest.raises(UserError) as error:
        STUDY.steps(tmp_path, load(**options))
    assert message in str(error.value)


def test_private_parts_may_begin_alike(load):
    config = load(settings="A1,A6", separate_start="alike")
    shared, private = (" ".join(row.train_options(config.separate_start)) for row in config.rows)
    assert "--separate" not in shared and private.endswith("--separate-start alike")
    assert all("--separate-start" not in row.train_options() for row in config.rows)


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "like").write_text("x" * 30 + "\n" + "y" * 50 + "\n")
    lines = [f"{n:03d}" + "z" * (n % 7) for n in range(100)]
    (tmp_path / "source").write_text("\n".join(lines) + "\n")
    return tmp_path, lines


def test_the_subset_is_as_large_as_the_other_text_within_half_a_line(texts):
    (folder, lines), subsets = texts, set()
    for seed in range(20):
        write_subset(folder / "source", folder / "like", folder / "out", seed)
        chosen = (folder / "out").read_text().splitlines()
        assert abs(sum(map(len, chosen)) - 80) <= max(map(len, lines)) / 2
        assert chosen == sorted(set(chosen))  # distinct lines in the order of the source
        write_subset(folder / "source", folder / "like", folder / "again", seed)
        assert (folder / "again").read_bytes() == (folder / "out").read_bytes()
        subsets.add(tuple(chosen))
        assert set(chosen) <= set(lines)
    assert len(subsets) > 15


def test_a_text_of_the_same_size_is_taken_whole(texts):
    folder, _ = texts
    write_subset(folder / "source", folder / "source", folder / "out", 1)
    assert (folder / "out").read_text() == (folder / "source").read_text()


def test_a_smaller_text_is_refused_with_both_sizes(texts):
    folder, _ = texts
    with pytest.raises(UserError, match=r"must be at least as large as .*source, got 80 and 5"):
        write_subset(folder / "like", folder / "source", folder / "out", 1)


@pytest.fixture
def cells(tmp_path):
    """Two settings, two target languages, two seeds, with made-up scores."""
    result = []
    abouts = []
    for row, setting in enumerate(SETTINGS[:2]):
        abouts.append({"row": setting.code, "name": setting.name, "vocabulary": "2,000"})
        for place, target in enumerate(("de", "zh")):
            for seed in (1, 2):
                name = f"{setting.code}.{target}.{seed}"
                score = 0.5 - 0.2 * row - 0.1 * place + 0.01 * seed
                about = {"task": "retrieval", "target": target, "measure": "mean", "chance": 0.1}
                rows = [{**about, "layer": 0, "value": 0.0}]
                rows.append({**about, "layer": 1, "value": score, "best": 1})
                write_record(tmp_path / f"{name}.json", Record("", rows))
                log = tmp_path / f"{name}.log"
                log.write_text(f"num. shared model params: {1000 * (row + 1)} (num. trained: 1)\n")
                files = {"evaluation": tmp_path / f"{name}.json", "log": log}
                result.append(Cell({**abouts[-1], "target": target, "seed": seed}, files))
    figure = {"measure": "paper: XNLI", "value": SETTINGS[0].paper_xnli, "unit": "%"}
    return [*result, Cell({**abouts[0], **figure}, {})]


def record(cells):
    return STUDY.record(STUDY.rows(cells), Options())


def test_a_row_per_setting_and_a_column_per_language_and_measure(cells):
    header, rows = table(record(cells))
    found = [row for row in STUDY.rows(cells) if row["measure"].startswith("sentence")]
    assert {row["chance"] for row in found} == {0.1}
    assert header == [
        *("setting", "", "BPE", "parameters"),
        *("sentence P@1, de", "sentence P@1, zh", "Δ sentence P@1", "paper: XNLI"),
    ]
    assert rows[0][:4] == ["A1", "Default", "2,000", "1,000"]
    assert rows[0][4:] == ["0.515 ± 0.007", "0.415 ± 0.007", "+0.000", "70.2"]
    assert rows[1][:4] == ["A2", "Other domain", "2,000", "2,000"]
    # Delta is the mean over languages against the first row.
    assert rows[1][6:] == ["-0.200", ""]


def test_zero_shot_tasks_are_further_columns(cells, tmp_path):
    with_task = []
    for one in cells[:-1]:
        code, target, seed = (one.about[name] for name in ("row", "target", "seed"))
        folder = tmp_path / f"pos-{code}-{target}-{seed}"
        scores = {"en": 99.0, target: 90.0 - 10 * (code == "A2") + seed}
        write_transfer(folder, "accuracy", scores)
        with_task.append(Cell(one.about, {**one.files, "pos test": folder}))
    header, rows = table(record(with_task))
    assert header[7:10] == ["POS, de", "POS, zh", "Δ POS"]
    assert rows[0][7:10] == ["91.5 ± 0.7", "91.5 ± 0.7", "+0.0"]
    assert rows[1][7:10] == ["81.5 ± 0.7", "81.5 ± 0.7", "-10.0"]
