from fairseq_xling.files import write_json
from fairseq_xling.studies.trelm.config import TrelmConfig
from fairseq_xling.studies.trelm.results import read_outcome
from fairseq_xling.studies.trelm.run_result import bleu_table
from fairseq_xling.studies.trelm.steps import Outcome


def generated(path, pairs):
    rows = [f"S-{n}\tsource {n}\nT-{n}\t{t}\nD-{n}\t0\t{d}\n" for n, (t, d) in enumerate(pairs)]
    path.parent.mkdir(parents=True)
    path.write_text("".join(rows))
    return path


def test_every_test_set_has_its_own_score_and_samples_are_of_the_first(tmp_path):
    write_json(tmp_path / "meta.json", {"mono": {}, "parallel": {}})
    bpw = {lang: {"bpw": 5.0} for lang in ("en", "de")}
    write_json(
        tmp_path / "bpw.json",
        {"results": [{"measures": {"bpw": {"scores": bpw, "chance": bpw}}}]},
    )
    right, wrong = ("a b c d e", "a b c d e"), ("a b c d e", "a b x y e")
    outcome = Outcome("de", 1, "", tmp_path, bpw=tmp_path / "bpw.json")
    outcome.checkpoints["init"] = tmp_path / "init.pt"
    outcome.translations = {
        "oracle": generated(tmp_path / "a" / "generate-test.txt", [right]),
        "oracle, test1": generated(tmp_path / "b" / "generate-test1.txt", [right, wrong]),
    }
    found = read_outcome(TrelmConfig(translate_split="test,test1"), outcome)
    header, rows = bleu_table([found])
    names = [row[header.index("ordering")] for row in rows]
    precisions = [row[header.index("1-gram precision")] for row in rows]
    assert (names, precisions) == (["oracle", "oracle, test1"], ["100.0", "80.0"])
    assert found["samples"] == [
        {"source": "source 0", "reference": "a b c d e", "oracle": "a b c d e"}
    ]
