import gzip
import math
import random

import pytest
import torch

from fairseq_xling.data.arpa import read_arpa
from fairseq_xling.errors import UserError
from fairseq_xling.models.ngram import Ngram
from tests.unit.models.test_ngram import MODEL


def test_a_model_is_read_packed_or_not(tmp_path):
    plain, packed = tmp_path / "a.arpa", tmp_path / "a.arpa.gz"
    plain.write_text("made by hand\n\n" + MODEL, encoding="utf-8")
    with gzip.open(packed, "wt", encoding="utf-8") as file:
        file.write(MODEL.replace("\t", " "))
    for path in (plain, packed):
        found = read_arpa(path)
        assert found.words == ["<unk>", "<s>", "</s>", "a", "b", "c"]
        assert [len(one.words) for one in found.orders] == [6, 5, 2]
        assert found.orders[2].words.tolist() == [[1, 3, 4], [3, 4, 2]]
        assert found.orders[1].log_probs[3] == pytest.approx(-0.3 * math.log(10))
        assert found.orders[1].backoffs.tolist()[:2] == pytest.approx(
            [-0.1 * math.log(10), -0.2 * math.log(10)]
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", r"must be an n-gram model in the ARPA format"),
        ("ngram 1=6\nngram 2=5\nngram 3=2\n", "\n", r"must say how many n-grams there are"),
        ("ngram 2=5", "ngram 2=4", r"must have the 4 2-grams that it announces, got 5"),
        ("\\2-grams:", "\\4-grams:", r":14: must be \\2-grams:, got '\\\\4-grams:'"),
        ("\\end\\", "\\4-grams:", r":25: must be \\end\\, got"),
        ("\\end\\\n", "", r"ends before \\end\\"),
        ("-1.1\tc", "-1.1\tb", r":12: 'b' is there twice"),
        ("-1.1\tc", "-1.1\tc d e", r":12: must be a log-probability, 1 word and perhaps"),
        ("-1.1\tc", "-1.1", r":12: must be a log-probability, 1 word and perhaps"),
        ("-1.1\tc", "x\tc", r":12: a log10 probability must be at most 0"),
        ("-1.1\tc", "0.1\tc", r":12: a log10 probability must be at most 0"),
        ("-1.1\tc", "nan\tc", r":12: a log10 probability must be at most 0"),
        ("-1.1\tc", "-1.1\tc\tinf", r":12: a log10 probability must be at most 0"),
        ("-0.2\ta a", "-0.2\ta d", r":19: 'd' is no 1-gram"),
        ("ngram 3=2", "ngram 3=" + "9" * 5000, r"must have the|must be \\1-grams"),
        ("-1.1\tc", "-1_0\tc", r":12: a log10 probability must be at most 0"),
        ("-1.1\tc", f"-{'9' * 5000}\tc", r":12: a log10 probability must be .{,99}$"),
    ],
)
def test_a_damaged_model_is_one_line(old, new, message, tmp_path):
    assert old in MODEL
    path = tmp_path / "a.arpa"
    path.write_text(MODEL.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=message) as error:
        read_arpa(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)


@pytest.mark.parametrize("seed", range(5))
def test_bytes_that_are_changed_anywhere_are_a_model_or_one_line(seed, tmp_path):
    rng = random.Random(seed)
    path, outcomes = tmp_path / "a.arpa", set()
    for _ in range(60):
        data = bytearray(MODEL.encode())
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            data[place : place + rng.randint(0, 2)] = rng.choice([b"\n", b" ", b"-", b"9", b"\xff"])
        path.write_bytes(data)
        try:
            model = Ngram(read_arpa(path), ["a", "b", "c"])
            score = model.score(model.start(1, 1), torch.tensor([[0, 1, 2]]))
            assert score.isfinite().all()
        except UserError as error:
            assert "\n" not in str(error)
            outcomes.add("refused")
        else:
            outcomes.add("read")
    assert outcomes == {"refused", "read"}
