"""What a finished `eval transfer` leaves of its tests."""

from fairseq_xling.papers.transfer.zero_shot import measurements
from fairseq_xling.reports.record import Record, to_record


def transfer_rows(*results, metric, languages=()):
    """Rows of ``results``, each with its ``tests``; what they leave out is of one encoder, trained
    on English with one setting. Languages stand as they first appear, unless they are given."""
    found = []
    for one in results:
        tests = [{"setting": "", "seed": n, **test} for n, test in enumerate(one["tests"], 1)]
        named = {"encoder": "a", **one}
        about = {"name": named["encoder"], "trained": "zero-shot", "sources": ["en"], "how": ""}
        found.append({**about, "metric": metric, "dev": [], **named, "tests": tests})
    labels = [label for one in found for test in one["tests"] for label in test["scores"]]
    named = dict.fromkeys(label.rpartition(".")[2] for label in labels)
    order = list(languages or named)
    return [row for one in found for row in measurements({"languages": order, **one})]


def transfer_record(*results, metric, languages=()):
    """The JSON of their record, without settings and sections."""
    rows = transfer_rows(*results, metric=metric, languages=languages)
    return to_record(Record("Transfer", rows, facts={"metric": metric}))
