"""Make goldens from the present code: ``python -m tests.golden.make [NAME ...]``.

A NAME may be a pattern such as ``help/*``; without one, all are made, and files of goldens that
are no more are removed.
"""

import fnmatch
import json
import os
import sys
import time

from tests.golden.goldens import FOLDER, MADE_WITH, goldens, kept, made_with, slow_goldens

# As tests have it, whatever the processor can do.
ENVIRONMENT = {"FAIRSEQ_XLING_NATIVE_BF16": "0", "OMP_NUM_THREADS": "1"}


def main(patterns: list[str]) -> int:
    """Write the goldens whose names fit one of ``patterns``; the exit status."""
    os.environ |= ENVIRONMENT
    known = {**goldens(), **slow_goldens()}
    chosen = [
        name
        for name in known
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not chosen:
        print(f"no golden is called {' or '.join(patterns)}", file=sys.stderr)
        return 1
    if not patterns or not MADE_WITH.is_file():
        MADE_WITH.write_text(json.dumps(made_with(), indent=2) + "\n")
    if not patterns:
        names = {kept(name) for name in known}
        for path in (FOLDER / "kept").rglob("*.txt"):
            if path not in names:
                path.unlink()
    for name in chosen:
        begun = time.monotonic()
        text = known[name]()
        path = kept(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        changed = not path.is_file() or path.read_text(encoding="utf-8") != text
        path.write_text(text, encoding="utf-8")
        word = "changed" if changed else "as before"
        print(f"{name}: {word}, {time.monotonic() - begun:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
