import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.emerging.mapped_layers import PRESETS, MappedLayers, Options
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.workflow.call import arguments
from fairseq_xling.workflow.recipe import Cell
from tests.records import table, write_transfer
from tests.unit.studies.paper_fields import TRAINING

STUDY = MappedLayers()


@pytest.fixture
def config(text):
    def make(**changes):
        given = {"data_text": str(text), "updates": 4, "every": 2, "layers": 2}
        return Options(**{**given, **changes})

    return make


def steps_of(tmp_path, config):
    made = STUDY.steps(tmp_path / "run", STUDY.check(config))
    return {step.name: step for step in made}


def value(command, option):
    return command[len(command) - 1 - command[::-1].index(option) + 1]


def test_a_ready_encoder_of_several_pairs_gets_each_head_once(config, tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.models.transfer_encoder.encoder_depth", lambda path: 2)
    both = ("en-de", "en-id")
    ready = {name: tuple(f"{pair}={name}" for pair in both) for name in ("encoder", "data")}
    given = config(languages="en,de,id", tasks="ner", rows="bilingual", read_layers="2", **ready)
    names = [step.name for step in STUDY.steps(tmp_path / "run", given)]
    tests = [f"unmapped-ner-ready-en-{lang}.{lang}-layer2-head1" for lang in ("de", "id")]
    assert names == ["ner-ready-en-de-layer2-head1", *tests, "table"]


def test_heads_on_a_ready_encoder_are_trained_with_each_seed(config, tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.models.transfer_encoder.encoder_depth", lambda path: 2)
    ready = {"encoder": ("en-de=encoder",), "data": ("en-de=data",)}
    given = config(tasks="ner", rows="bilingual", read_layers="2", seeds="1,2,3", **ready)
    steps = {step.name: step for step in STUDY.steps(tmp_path / "run", given)}
    heads = [step for name, step in steps.items() if name.startswith("ner-")]
    assert [value(step.commands[0], "--seeds") for step in heads] == ["1", "2", "3"]
    assert len([name for name in steps if name.startswith("unmapped-")]) == 3
    assert len(steps["table"].inputs) == 6


def test_the_map_leads_from_the_target_to_the_source_over_aligned_words(config, tmp_path):
    chosen = {"map_sentences": 7, "segment": "de=space,zh=char", "normalize": "iterative"}
    steps = steps_of(tmp_path, config(tasks="ner", **chosen))
    (command,) = steps["map-mono-en-1-mono-de-1-de"].commands
    moving, fixed = command[3:5]
    assert "/mono-de-1.de/" in moving and "/mono-en-1.en/" in fixed and "--swap" in command
    (align,) = steps["align-en-de-pre-space"].commands
    assert align[2] == "intersection" and align[3].endswith("en-de.en.txt")
    assert (value(align, "--segment-source"), value(align, "--segment-target")) == ("pre", "space")
    assert value(command, "--alignments") == value(align, "--output")
    assert value(command, "--normalize") == "iterative"
    with pytest.raises(UserError, match="unknown normalisation 'iterativ'"):
        STUDY.check(config(normalize="iterativ"))
    cut = arguments(steps["text-en-de"].commands[0][4:])
    assert cut["outputs"] == align[3:5] and cut["count"] == 7
    mapped = steps["mapped-ner-mono-en-1-mono-de-1.de-layer1-head1"]
    plain = steps["unmapped-ner-mono-en-1-mono-de-1.de-layer1-head1"]
    assert mapped.reads(steps["map-mono-en-1-mono-de-1-de"])
    assert not plain.reads(steps["map-mono-en-1-mono-de-1-de"])
    for step in (mapped, plain):
        assert step.reads(steps["ner-mono-en-1-layer1-head1"])
        assert not step.reads(steps["ner-mono-en-1-layer0-head1"])
        assert [path.name for path in step.unread] == ["tags.test.de.tsv"]


def test_layers_and_rows_can_be_chosen_and_options_of_a_head_are_joined(config, tmp_path):
    steps = steps_of(
        tmp_path,
        config(
            **{"tasks": "ner", "read_layers": "2", "rows": "unmapped", "seeds": "3,4"},
            **{"task_args": "--seeds 1,2", "head_train_args": "--update-freq 2"},
        ),
    )
    assert not [name for name in steps if name.startswith(("map-", "align-", "extract-"))]
    heads = [name for name in steps if name.startswith("ner-")]
    assert heads == ["ner-mono-en-3-layer2-head3", "ner-mono-en-4-layer2-head4"]
    (command,) = steps[heads[0]].commands
    assert value(command, "--seeds") == "1,2"
    assert value(command, "--train-args") == "--read-layer 2 --head-layers 4 --update-freq 2"


def test_files_of_a_task_of_the_users_own_take_part(config, text, tmp_path):
    files = {}
    for split, lang in (("train", "en"), ("valid", "en"), ("test", "en"), ("test", "de")):
        path = tmp_path / f"{split}.{lang}.tsv"
        path.write_text("a\t1\n")
        files.setdefault(f"task_{split}", []).append(f"{lang}={path}")
    own = {name: tuple(texts) for name, texts in files.items()}
    own |= {"tasks": "", "task_head": "classification", "task_columns": "text=0,label=1"}
    steps = steps_of(tmp_path, config(**own))
    (command,) = steps["own-mono-en-1-layer0-head1"].commands
    assert value(command, "--head") == "classification"
    assert value(command, "--columns") == "text=0,label=1"
    assert steps["mapped-own-mono-en-1-mono-de-1.de-layer0-head1"].unread == [
        tmp_path / "test.de.tsv"
    ]
    with pytest.raises(UserError, match="`--task-test` must name a file of 'de', as in de=FILE"):
        STUDY.check(config(**{**own, "task_test": own["task_test"][:1]}))
    with pytest.raises(UserError, match="`--task-train` needs `--task-head`"):
        STUDY.check(config(**{**own, "task_head": ""}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": "maped"}, "`--rows`: unknown name 'maped'; did you mean 'mapped'"),
        ({"every": 3}, "`--updates` must be a multiple of `--every`, got 4 and 3"),
        ({"vocab": "separate"}, "`--vocab` must be one of joint, .*, got 'separate'"),
        ({"read_layers": "0,3"}, r"`--read-layers` must lie in \[0, 2\], got '0,3'"),
        ({"tasks": ""}, "`--tasks` must name at least one task, or `--task-head` its head"),
        ({"tasks": "nli"}, r"nli\.train\.en\.tsv: no such file; the task NLI needs it"),
        ({"task_head": "nr"}, "unknown `--task-head` 'nr'; did you mean 'ner'"),
        ({"map_split": "dev"}, r"parallel/dev\.en-de\.en\.txt: no such file"),
        ({"encoder": ("fr=x",), "data": ("fr=x",)}, "`--encoder`: unknown language 'fr'"),
        ({"task_args": "--train-args x"}, "`--task-args` must leave `--train-args` to"),
        ({"head_train_args": "'"}, "`--head-train-args`: No closing quotation"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_runs(
    config, changes, message, tmp_path
):
    with pytest.raises(UserError, match=message):
        steps_of(tmp_path, config(**changes))


def cell(folder, row, layer, seed, own, other):
    tuned, result = folder / f"tuned-{layer}-{seed}", folder / f"{row}-{layer}-{seed}.json"
    write_transfer(tuned, "f1", {"en": own})
    scores = [{"measure": "f1", "seed": n, "value": other + n} for n in (-1.0, 1.0)]
    write_record(result, Record("", scores, facts={"metric": "f1"}))
    about = {"row": row, "title": row.upper(), "pair": "en-de", "measure": "NER F1"}
    about |= {"layer": layer, "seed": seed}
    return Cell(about, {"source": tuned, "target": result})


def test_the_table_has_the_source_language_and_each_row_by_layer(tmp_path):
    cells = [
        cell(tmp_path, row, layer, seed, 80.0 + layer, other + 2 * seed)
        for row, other in (("mapped", 50.0), ("unmapped", 10.0))
        for layer in (0, 2)
        for seed in (1, 2)
    ]
    record = STUDY.record(STUDY.rows(cells), Options())
    header, shown = table(record)
    assert header == ["task", "pair", "encoders", "layer 0", "layer 2"]
    assert shown[0] == ["NER F1", "en-de", "en itself, monolingual", "80.0 ± 0.0", "82.0 ± 0.0"]
    assert shown[1] == ["NER F1", "en-de", "MAPPED", "53.0 ± 1.4", "53.0 ± 1.4"]
    assert shown[2][2:] == ["UNMAPPED", "13.0 ± 1.4", "13.0 ± 1.4"]
    figure = parts(record)[0].figure()
    assert [axis.get_ylabel() for axis in figure.axes if axis.get_visible()] == ["NER F1 (%)"]
    of_layer = [row for row in record.rows if row["layer"] == 2]
    # curves of a single layer would show no spread
    (axis,) = parts(STUDY.record(of_layer, Options()))[0].figure().axes
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["en itself, monolingual", "MAPPED", "UNMAPPED"]
    dots = [line.get_xdata() for line in axis.lines if len(line.get_xdata()) == 2]
    assert sorted(dots[1]) == [52.0, 54.0] and axis.get_xlabel() == "NER F1 (%)"


def test_every_field_of_the_papers_preset():
    """Conneau et al. (2020), Sections 3.1 and 5.1.2; fields without a mark are not the paper's."""
    given = Options(**PRESETS["paper"], preset="paper")
    assert dataclasses.asdict(given) == {
        **dataclasses.asdict(Options()),
        **TRAINING,
        "tasks": "ner,parsing",  # 5.1.2
        "preset": "paper",
        "languages": "en,fr,ru,zh",  # Table 1
        "rows": "mapped,unmapped,bilingual,bilingual-mapped",  # Appendix A
        "read_layers": "all",  # 0 to 8
        "head_layers": 4,  # 5.1.2
        "map_split": "train",
        "map_sentences": 10_000,  # 5.1.2
        "normalize": "iterative",  # 5.1
        "links": "intersection",
        "vocab": "union",
    }
