import json
import math
import random
import subprocess
import sys

import pytest

from fairseq_xling.analysis.sampled_bleu import Sample, read_samples, score
from fairseq_xling.core.errors import UserError

OUTPUT = """\
S-1\tzwei Hunde
T-1\ttwo dogs
H-1\t-0.5\t▁two ▁dogs
D-1\t-0.5\ttwo dogs
P-1\t-0.1 -0.2
S-0\tein - Hund
T-0\ta dog
H-0\t-0.7\t
D-0\t-0.7\t
P-0\t
Generate test with beam=5: BLEU = 1
"""


def sample(hypothesis, reference):
    return Sample(0, "", reference, hypothesis)


def test_sentences_come_in_the_order_of_the_text(tmp_path):
    (tmp_path / "out.txt").write_text(OUTPUT)
    assert read_samples(tmp_path / "out.txt") == [
        Sample(0, "ein - Hund", "a dog", ""),
        Sample(1, "zwei Hunde", "two dogs", "two dogs"),
    ]


def test_of_several_outputs_the_first_counts(tmp_path):
    (tmp_path / "out.txt").write_text("S-0\ta\nT-0\tb\nD-0\t-1\tbest\nD-0\t-2\tsecond\n")
    assert read_samples(tmp_path / "out.txt")[0].hypothesis == "best"


def test_a_file_without_translations_is_an_error(tmp_path):
    (tmp_path / "out.txt").write_text("Generate test\n")
    with pytest.raises(UserError, match=r"out\.txt: contains no translations with references$"):
        read_samples(tmp_path / "out.txt")


def test_both_readings_of_bleu_by_hand():
    # Of 6, 5, 4, 3 n-grams 5, 3, 2, 1 are right; lengths are equal.
    found = score([sample("the cat sat on a mat", "the cat sat on the mat")], "none")
    parts = [5 / 6, 3 / 5, 2 / 4, 1 / 3]
    assert found["precisions"] == pytest.approx([100 * p for p in parts])
    expected = [100 * math.prod(parts[:n]) ** (1 / n) for n in (1, 2, 3, 4)]
    assert found["cumulative"] == pytest.approx(expected)
    assert found["bleu"] == found["cumulative"][3]
    assert (found["brevity_penalty"], found["length_ratio"]) == (1.0, 1.0)


def test_nothing_is_smoothed():
    found = score([sample("the dog ran off", "the cat sat on")], "none")
    assert found["precisions"] == [25.0, 0.0, 0.0, 0.0]
    assert found["cumulative"][0] == pytest.approx(25.0)
    assert found["cumulative"][1:] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [("13a", "the dog, the cat's U.S. 3.14 end."), ("zh", "狗 看 到 了 a 猫 。")],
)
def test_scores_are_those_that_sacrebleu_prints_for_the_same_text(tokenizer, words, tmp_path):
    draw, between = random.Random(7), "" if tokenizer == "zh" else " "
    samples = []
    for size in range(4, 30):
        line = draw.choices(words.split(), k=size)
        other = [draw.choice(words.split()) if draw.random() < 0.2 else word for word in line]
        samples.append(sample(between.join(other[draw.randint(0, 1) :]), between.join(line)))
    for name in ("hypothesis", "reference"):
        text = "".join(f"{getattr(one, name)}\n" for one in samples)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", tmp_path / "reference", "-i"]
    command += [tmp_path / "hypothesis", *"-m bleu chrf --smooth-method none -w 9 -f json".split()]
    done = subprocess.run([*command, "-tok", tokenizer], capture_output=True, text=True, check=True)
    bleu, chrf = json.loads(done.stdout)
    found = score(samples, tokenizer)
    assert 10 < found["bleu"] < 90 and 10 < found["chrf"] < 90
    assert found["bleu"] == pytest.approx(bleu["score"])
    assert "/".join(f"{one:.1f}" for one in found["precisions"]) == bleu["verbose_score"].split()[0]
    assert found["chrf"] == pytest.approx(chrf["score"])


def test_empty_outputs_score_nothing():
    found = score([sample("", "the cat")], "13a")
    assert found["bleu"] == 0
    assert found["precisions"] == [0.0] * 4
