import dataclasses
import shutil

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.emerging.similarity import (
    PRESETS,
    Options,
    Similarity,
    split_entries,
    write_heads,
    write_lexicon,
)
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.workflow.recipe import Cell
from tests.records import table
from tests.unit.studies.paper_fields import TRAINING

STUDY = Similarity()
TRAINED = ("mono-en-1", "mono-de-1", "union-en-de-1", "separate-en-en_2-1")


@pytest.fixture
def config(text):
    def make(**changes):
        return Options(**{"data_text": str(text), "updates": 4, "every": 2, **changes})

    return make


def command_of(steps, name, number=-1):
    return steps[name].commands[number]


def value(command, option):
    return command[command.index(option) + 1]


def steps_of(tmp_path, config):
    made = STUDY.steps(tmp_path / "run", STUDY.check(config))
    return {step.name: step for step in made}


@pytest.mark.parametrize("equal, steps", [("steps", 4), ("text", 8)])
def test_encoders_take_as_many_steps_or_as_much_of_each_language(config, tmp_path, equal, steps):
    found = steps_of(tmp_path, config(seeds="1", equal=equal))
    updates = {name: value(command_of(found, f"train-{name}"), "--max-update") for name in TRAINED}
    assert updates == {**dict.fromkeys(TRAINED[:2], "4"), **dict.fromkeys(TRAINED[2:], str(steps))}


def test_one_language_twice_has_another_seed_and_the_same_sentences(config, tmp_path):
    steps = steps_of(tmp_path, config(seeds="4", rows="mapped,sep-emb"))
    seeds = {value(command_of(steps, f"train-mono-en-{n}"), "--seed") for n in (4, 504)}
    assert seeds == {"4", "504"}
    measure = command_of(steps, "retrieval-sep-emb-separate-en-en_2-4")
    first, second = measure[3:5]
    assert first != second and second.endswith("separate-en-en_2-4.en_2/test-en-de")
    extract = command_of(steps, "extract-separate-en-en_2-4.en_2-test-en-de")
    assert value(extract, "--text").endswith("test.en-de.en.txt")
    assert value(extract, "--lang") == "en_2"


def test_settings_may_leave_nothing_to_measure(config, tmp_path):
    with pytest.raises(UserError, match="these settings leave nothing to measure"):
        steps_of(tmp_path, config(rows="sep-emb", same=False))


def test_the_second_side_of_one_language_reads_paraphrases(config, text, tmp_path):
    files = {split: tmp_path / f"{split}.back.txt" for split in ("valid", "test")}
    for path in files.values():
        path.write_text("b\n")
    given = ",".join(f"{split}={path}" for split, path in files.items())
    steps = steps_of(tmp_path, config(seeds="1,2", rows="mapped,sep-emb", paraphrase=given))
    second = [(f"mono-en-{seed}", "en", split) for seed in (1, 2) for split in files]
    for name, code, split in [*second, ("separate-en-en_2-1", "en_2", "test")]:
        extract = command_of(steps, f"extract-{name}.{code}-{split}-paraphrase")
        assert value(extract, "--text") == str(files[split]) and value(extract, "--lang") == code
    fit, measure = steps["retrieval-mapped-mono-en-2-mono-en-1"].commands
    ends = [[path.rsplit("/", 2)[1:] for path in command[3:5]] for command in (fit, measure)]
    assert ends == [
        [["mono-en-2.en", f"{split}-en-de"], ["mono-en-1.en", f"{split}-paraphrase"]]
        for split in files
    ]
    other = command_of(steps, "cka-mono-en-1-mono-de-1")  # two languages: their own text
    assert [path.rsplit("/", 1)[1] for path in other[3:5]] == ["test-en-de"] * 2


@pytest.mark.parametrize(
    ("given", "same", "message"),
    [
        ("valid={f}", True, "`--paraphrase` must be valid=FILE,test=FILE, got"),
        ("valid={f},test=", True, "`--paraphrase` must be valid=FILE,test=FILE, got"),
        ("valid={f},test={f}x", True, "pairs.txtx: no such file"),
        ("valid={f},test={f}", False, "`--paraphrase` needs `--same true`"),
        ("valid={f},test={f}", True, r"pairs.txt: must have the 1 lines .* got 2"),
    ],
)
def test_paraphrases_that_do_not_fit_are_refused(config, tmp_path, given, same, message):
    path = tmp_path / "pairs.txt"
    path.write_text("a\nb\n" if "got 2" in message else "a\n")
    with pytest.raises(UserError, match=message):
        STUDY.check(config(paraphrase=given.format(f=path), same=same))


@pytest.mark.parametrize("what", ["mono", "bilingual"])
def test_a_ready_encoder_takes_the_place_of_a_trained_one(config, tmp_path, what):
    (tmp_path / "ready.pt").write_text("x")
    (tmp_path / "ready-data").mkdir()
    name = {"mono": "en", "bilingual": "en-de"}[what]
    given = {"encoder": (f"{name}={tmp_path / 'ready.pt'}",)}
    given |= {"data": (f"{name}={tmp_path / 'ready-data'}",), "same": False}
    steps = steps_of(tmp_path, config(seeds="1,2", rows="bilingual,mapped", **given))
    trained = {name for name in steps if name.startswith("train-")}
    if what == "mono":
        assert "train-mono-en-1" not in trained and "train-mono-de-2" in trained
        extract = command_of(steps, "extract-ready-en.en-test-en-de")
        assert extract[2] == str(tmp_path / "ready.pt")
    else:  # one encoder for all seeds is measured once
        assert not any("union" in name for name in steps)
        assert sum(name.startswith("retrieval-bilingual") for name in steps) == 1


def test_one_ready_encoder_of_several_pairs_is_measured_on_each(config, text, tmp_path):
    for path in [path for path in text.rglob("*") if path.is_file()]:
        twin = path.name.replace("en-de", "en-zh").replace(".de.", ".zh.")
        path.with_name(twin).write_bytes(path.read_bytes())
    pairs = ("en-de", "en-zh")
    given = {"encoder": tuple(f"{pair}=model.pt" for pair in pairs)}
    given |= {"data": tuple(f"{pair}=data" for pair in pairs)}
    given |= {"rows": "bilingual", "same": False, "languages": "en,de,zh", "segment": ""}
    made = STUDY.steps(tmp_path / "run", config(seeds="1", **given))
    steps = {step.name: step for step in made}
    for what in ("retrieval-bilingual", "cka", "bli-bilingual", "static-bilingual"):
        for lang in ("de", "zh"):
            read = " ".join(command_of(steps, f"{what}-ready-en-{lang}"))
            assert f".{lang}/" in read, read


def test_a_ready_encoder_of_each_seed_is_measured_by_itself(config, tmp_path):
    (tmp_path / "data").mkdir()
    for seed in (1, 2):
        (tmp_path / f"{seed}.pt").write_text("x")
    given = {"encoder": (f"en-de={tmp_path / '{seed}.pt'}",), "same": False}
    given |= {"data": (f"en-de={tmp_path / 'data'}",), "rows": "bilingual"}
    steps = steps_of(tmp_path, config(seeds="1,2", **given))
    read = [command_of(steps, f"extract-ready-en-de-{seed}.de-test-en-de")[2] for seed in (1, 2)]
    assert read == [str(tmp_path / "1.pt"), str(tmp_path / "2.pt")]
    with pytest.raises(UserError, match=r"3\.pt: no such file"):
        STUDY.check(config(seeds="1,3", **given))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_text": "nowhere"}, "`--data-text` must be a folder with text in mono/"),
        ({"languages": "en"}, "`--languages` must name at least two, got 'en'"),
        ({"languages": "en,fr"}, "has no dictionary en-fr.tsv"),
        ({"rows": "mappd"}, "`--rows`: unknown name 'mappd'; did you mean 'mapped'"),
        ({"measures": ","}, "`--measures` must name at least one of retrieval, cka"),
        ({"every": 3}, "`--updates` must be a multiple of `--every`, got 4 and 3"),
        ({"layers": 1}, "`--layers` must be at least 2 to correlate, got 1"),
        ({"vocab": "separate"}, "`--vocab` must be one of joint, prefixed, union, got 'separate'"),
        ({"test_share": 1.0}, "`--test-share` must lie between 0 and 1, got 1.0"),
        ({"dictionary_test": "x"}, "`--dictionary-train` and `--dictionary-test` must be given"),
        ({"encoder": ("fr=x",), "data": ("fr=x",)}, "`--encoder`: unknown language 'fr'"),
        ({"encoder": ("de=x",), "data": ("de=x",)}, "x: no such file or folder"),
        ({"encoder": ("en=.",), "data": ("en=.",)}, "use `--same false`"),
        ({"normalize": "unti"}, "unknown normalisation 'unti'; did you mean 'unit'"),
        ({"segment": "zh"}, "`--segment` must look like zh=char, got 'zh'"),
        ({"compare_layers": "0,5"}, r"`--compare-layers` must lie in \[0, 4\], got '0,5'"),
        ({"train_args": "'"}, "`--train-args`: No closing quotation"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_runs(
    config, changes, message, tmp_path
):
    with pytest.raises(UserError, match=message):
        steps_of(tmp_path, config(**changes))


def test_a_dictionary_is_needed_for_measures_of_words_alone(tmp_path, config, text):
    shutil.rmtree(text / "dictionary")
    steps = steps_of(tmp_path, config(measures="retrieval,cka"))
    assert "lexicon" not in steps and any(name.startswith("retrieval-") for name in steps)
    for words in ("bli", "static"):
        with pytest.raises(UserError, match="dictionary: no such file"):
            STUDY.check(config(measures=f"cka,{words}"))


def test_a_dictionary_is_split_by_source_words_and_repeatably(tmp_path):
    entries = [(f"e{n}", f"d{m}") for n in range(20) for m in (n, n + 1)]
    np.random.seed(3)  # not read
    train, test = split_entries(entries, 0.25, 7)
    assert sorted(train + test) == sorted(entries)
    assert len({word for word, _ in test}) == 5
    assert not {word for word, _ in train} & {word for word, _ in test}
    assert (train, test) == split_entries(entries, 0.25, 7) != split_entries(entries, 0.25, 8)
    with pytest.raises(UserError, match="needs 2 source words, got 1"):
        split_entries([("a", "x")], 0.5, 1)


def test_contexts_are_the_first_lines_of_a_text(tmp_path):
    (tmp_path / "text").write_text("a\nb\nc\n")
    write_heads([tmp_path / "text"], [tmp_path / "new/cut"], 2)
    assert (tmp_path / "new/cut").read_text() == "a\nb\n"


def test_the_lexicon_has_the_words_of_all_pairs_and_each_word_as_its_own_translation(tmp_path):
    files = {}
    for lang, words in (("de", "ab"), ("zh", "bc")):
        files[lang] = [tmp_path / lang]
        files[lang][0].write_text("".join(f"{w}\t{lang}{w}\n" for w in words))
    parts = [tmp_path / "train", tmp_path / "test"]
    for n, path in enumerate(parts):
        path.write_text(f"a{n} x{n}\n")
    write_lexicon(tmp_path / "out", "en", {**files, "id": parts}, 0.5, 1, same=True)
    words = {x: sorted((tmp_path / f"out/words.{x}.txt").read_text().split()) for x in ("en", "zh")}
    assert words == {"en": ["a", "a0", "a1", "b", "c"], "zh": ["zhb", "zhc"]}
    assert (tmp_path / "out/en-id/test.tsv").read_text() == "a1\tx1\n"
    own = [(tmp_path / f"out/en-en_2/{part}.tsv").read_text() for part in ("train", "test")]
    assert sorted("".join(own).split()) == sorted(2 * ["a", "b", "c", "a0", "a1"])


def cell(folder, row, seed, retrieval, cka):
    results = {"retrieval": ("cosine mean", retrieval), "cka": ("CKA", cka)}
    paths = {}
    for what, (curve, values) in results.items():
        paths[what] = folder / f"{what}-{row}-{seed}.json"
        about = {"measure": curve, "chance": 0.125}
        rows = [{**about, "layer": layer, "value": value} for layer, value in enumerate(values)]
        write_record(paths[what], Record("", rows))
    return Cell({"row": row, "title": row.upper(), "pair": "en-de", "seed": seed}, paths)


def test_the_table_has_means_over_layers_their_spread_over_seeds_and_correlations(tmp_path):
    cells = [
        cell(tmp_path, "a", 1, [0.0, 0.3, 0.6], [0.1, 0.2, 0.3]),
        cell(tmp_path, "a", 2, [0.2, 0.5, 0.8], [0.1, 0.2, 0.3]),
        cell(tmp_path, "b", 1, [0.0, 0.0, 0.0], [0.2, 0.2, 0.2]),
    ]
    for row, values in {"a": (0.5, 0.7), "b": (None,)}.items():
        found = [{"measure": "Pearson", "pair": "all", "value": 0.9}]
        for number, value in enumerate(values):
            about = {"pair": f"en-de ({number})"}
            found += [{**about, "measure": "points", "value": 3}]
            found += [] if value is None else [{**about, "measure": "Pearson", "value": value}]
        write_record(tmp_path / row, Record("", found))
        about = {"row": row, "title": row.upper(), "pair": "en-de", "seed": [1, 2][: len(values)]}
        cells.append(Cell(about, {"correlation": tmp_path / row}))
    record = STUDY.record(STUDY.rows(cells), Options())
    header, shown = table(record)
    assert header == ["encoders", "pair", "retrieval P@1", "CKA", "Pearson"]
    assert shown[0] == ["A", "en-de", "0.400 ± 0.141", "0.200 ± 0.000", "0.600 ± 0.141"]
    assert shown[1] == ["B", "en-de", "0.000", "0.200", ""]
    long = [row for row in record.rows if "layer" in row]
    about = {"row": "a", "pair": "en-de", "seed": 2, "layer": 1, "value": 0.5}
    assert len(long) == 18 and any(about.items() <= row.items() for row in long)
    figure = parts(record)[1].figure()
    visible = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_ylabel() for axis in visible] == ["retrieval P@1", "CKA"]
    drawn = visible[0].lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), [0.1, 0.4, 0.7])
    assert visible[0].get_title() == "en-de"
    assert parts(record)[1].section.notes == ["Chance: retrieval P@1 0.125, CKA 0.125"]
    (legend,) = figure.legends  # one for all, below
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B", "chance"]
    assert len(visible[0].collections) == 1  # a band where there are several seeds
    assert visible[0].get_ylim()[1] > 0.7 + 0.1 * 2**0.5  # which is seen whole


def test_every_field_of_the_papers_preset():
    """Conneau et al. (2020), Sections 3.1 and 5; fields without a mark are not the paper's."""
    given = Options(**PRESETS["paper"], preset="paper")
    assert dataclasses.asdict(given) == {
        **dataclasses.asdict(Options()),
        **TRAINING,
        "preset": "paper",
        "languages": "en,fr,de,ru,zh",  # Figure 7
        "rows": "bilingual,sep-emb,mapped,unmapped,random",
        "measures": "retrieval,cka,bli,static",
        "seeds": "1,2,3",
        "vocab": "union",
        "method": "procrustes",  # 5.1
        "normalize": "iterative",  # 5.1
        "compare_layers": "all",  # 0 to 8
        "contexts": 500_000,  # 5.1.1
    }
