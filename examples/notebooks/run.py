"""Run notebooks from the first cell to the last, and keep what they show.

    python examples/notebooks/run.py [NOTEBOOK ...] [--output FOLDER]

Each runs in an empty folder, which is deleted. Needs `pip install 'fairseq_xling[notebooks]'`.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(notebook: Path, output: Path) -> None:
    """Write ``notebook`` with the outputs of its cells to ``output``."""
    import nbformat
    from nbclient import NotebookClient

    # The programs of this environment are found by `%%bash` cells.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cells = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(cells, timeout=None, record_timing=False, resources=resources).execute()
    cells.metadata.pop("language_info", None)  # with the version of this Python
    output.mkdir(parents=True, exist_ok=True)
    part = output / f"{notebook.name}.part"
    nbformat.write(cells, part)
    part.replace(output / notebook.name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "notebooks", nargs="*", metavar="NOTEBOOK", help="by name or file (default: all)"
    )
    parser.add_argument(
        "--output", type=Path, default=HERE, help="folder to write to (default: in place)"
    )
    args = parser.parse_args()
    known = {path.stem: path for path in sorted(HERE.glob("*.ipynb"))}
    chosen = [Path(name).stem for name in args.notebooks] or list(known)
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"`NOTEBOOK` must be one of {', '.join(known)}, got {unknown[0]}")
    for name in chosen:
        print(name, flush=True)
        run(known[name], args.output)


if __name__ == "__main__":
    main()
