"""Write the gold pivots of a split from its word alignment, and measure pseudo-gold ones by them.

    python examples/clcr/gold_pivots.py DATA LABELS/test GOLD/test

See `fairseq_xling.papers.clcr.labels`; `clcr measure keypoints` and `order` read the folder GOLD as
LABELS.
"""

import argparse

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.papers.clcr.labels import write_gold


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="data folder whose split has a word alignment")
    parser.add_argument("labels", help="folder of `fairseq-xling clcr label`, of that split")
    parser.add_argument("output", help="folder to write")
    args = parser.parse_args()
    found = write_gold(DataFolder(args.data), args.labels, args.output)
    print("pseudo-gold: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
