from pathlib import Path

from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page

HEADER = ["pair", "layer", "forward", "backward", "mean", "chance", "sentences"]


def panels(header):
    """What is drawn of a measure with these columns, by the words at the upright axes."""
    column = HEADER.index
    rows = [["en-de", 0, 0.5, 0.3, 0.4, 0.1, 10], ["en-de", 1, 0.7, 0.5, 0.6, 0.1, 10]]
    table = {
        "title": "Sentence retrieval",
        "header": header,
        "rows": [[row[column(name)] for name in header] for row in rows],
        "scores": {},
        "notes": [],
    }
    record = {"results": [{"checkpoint": "a/b.pt", "measures": {"retrieval": table}}]}
    (section,) = make_page(Result(Path("eval.json"), record)).sections
    return [axis.get_ylabel() for axis in section.figure().axes]


def test_of_both_directions_and_their_mean_the_mean_alone_is_drawn():
    assert panels(HEADER) == ["sentence P@1 (share), mean"]
    assert len(panels([name for name in HEADER if name != "mean"])) == 2
