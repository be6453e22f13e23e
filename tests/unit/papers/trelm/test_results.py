import pytest

from fairseq_xling.files import write_json
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.results import read_outcome
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.translation_result import bleu_table


def generated(path, pairs):
    rows = [f"S-{n}\tsource {n}\nT-{n}\t{t}\nD-{n}\t0\t{d}\n" for n, (t, d) in enumerate(pairs)]
    path.parent.mkdir(parents=True)
    path.write_text("".join(rows))
    return path


def migration(root, target):
    """Of a migration without trainings, all but its translations."""
    write_json(root / "meta.json", {"mono": {}, "parallel": {}})
    bpw = {lang: {"bpw": 5.0} for lang in ("en", target)}
    write_json(
        root / "bpw.json",
        {"results": [{"measures": {"bpw": {"scores": bpw, "chance": bpw}}}]},
    )
    outcome = Outcome(target, 1, "", root, bpw=root / "bpw.json")
    outcome.checkpoints["init"] = root / "init.pt"
    return outcome


def test_every_test_set_has_its_own_score_and_samples_are_of_the_first(tmp_path):
    right, wrong = ("a b c d e", "a b c d e"), ("a b c d e", "a b x y e")
    outcome = migration(tmp_path, "de")
    outcome.translations = {
        "oracle": generated(tmp_path / "a" / "generate-test.txt", [right]),
        "oracle, test1": generated(tmp_path / "b" / "generate-test1.txt", [right, wrong]),
    }
    found = read_outcome(TrelmConfig(translate_split="test,test1"), outcome)
    header, rows = bleu_table([found])
    names = [row[header.index("ordering")] for row in rows]
    precisions = [str(row[header.index("1-gram precision")]) for row in rows]
    assert (names, precisions) == (["oracle", "oracle, test1"], ["100.0", "80.0"])
    assert found["samples"] == [
        {"source": "source 0", "reference": "a b c d e", "oracle": "a b c d e"}
    ]


@pytest.mark.row("T18")
def test_a_backward_translation_is_cut_as_its_own_language_and_has_its_own_samples(tmp_path):
    outcome = migration(tmp_path, "zh")
    chinese, english = ("我们来了吗", "我们来了呢"), ("a dog runs home", "a dog runs away")
    outcome.translations = {
        "identity": generated(tmp_path / "a" / "generate-test.txt", [chinese]),
        "identity, backward": generated(tmp_path / "b" / "generate-test.txt", [english]),
    }
    outcome.backward = ["identity, backward"]
    found = read_outcome(TrelmConfig(languages="en,zh"), outcome)
    scores = found["translation"]
    assert "tok:zh" in scores["identity"]["signature"]
    assert "tok:13a" in scores["identity, backward"]["signature"]
    assert scores["identity"]["precisions"][0] == pytest.approx(80.0)  # of characters
    assert scores["identity, backward"]["precisions"][0] == pytest.approx(75.0)  # of words
    # A tokenizer that is chosen is the target's.
    chosen = TrelmConfig(languages="en,zh", bleu_tokenizer="char")
    scores = read_outcome(chosen, outcome)["translation"]
    assert "tok:char" in scores["identity"]["signature"]
    assert "tok:13a" in scores["identity, backward"]["signature"]
    assert found["samples"] == [
        {"source": "source 0", "reference": "我们来了吗", "identity": "我们来了呢"}
    ]
    assert found["samples_backward"] == [
        {
            "source": "source 0",
            "reference": "a dog runs home",
            "identity, backward": "a dog runs away",
        }
    ]
