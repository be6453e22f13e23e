"""What a finished `eval transfer` leaves of its tests."""

from fairseq_xling.papers.transfer.transfer_result import measurements
from fairseq_xling.results.frame import frame_to_json


def transfer_record(*results, metric):
    """Metric and frame of ``results``, each with its ``tests``; what they leave out is of one
    encoder, trained on English with one setting."""
    found = []
    for one in results:
        tests = [{"setting": "", "seed": n, **test} for n, test in enumerate(one["tests"], 1)]
        named = {"encoder": "a", **one}
        about = {"name": named["encoder"], "trained": "zero-shot", "sources": ["en"], "how": ""}
        found.append({**about, "metric": metric, "dev": [], **named, "tests": tests})
    return {"metric": metric, "frame": frame_to_json(measurements(found))}
