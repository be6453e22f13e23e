"""Add to the report of `fairseq-xling map adversarial` the frame that claims are tested on.

    python examples/transfer/map_frame.py REPORT OUTPUT TARGET

For each seed the share of identically spelt words that are their own nearest neighbour by CSLS,
with the map and without it. The map does not read spelling.
"""

import argparse
from pathlib import Path

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.results.frame import frame_to_json, make_frame


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, help="OUTPUT.json of the map")
    parser.add_argument("output", type=Path, help="file to write")
    parser.add_argument("target", help="code of the mapped language")
    args = parser.parse_args()
    report = read_json(args.report)
    without = report["shared_words_unmapped"]["p_at_1"]
    rows = [
        {"row": row, "seed": int(seed), "target": args.target, "measure": "P@1", "value": value}
        for seed, found in report["seeds"].items()
        for row, value in (("mapped", found["evidence"]["p_at_1"]), ("unmapped", without))
    ]
    frame = frame_to_json(make_frame(rows, paper="transfer", source="en"))
    write_json(args.output, {**report, "frame": frame})


if __name__ == "__main__":
    main()
