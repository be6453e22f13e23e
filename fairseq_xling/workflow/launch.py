"""Runs an installed program of fairseq as it is, but sooner: see `engine.lean`.

    python -m fairseq_xling.workflow.launch /path/to/fairseq-train data --user-dir ...

The runner begins the trainings and translations of a run with it.
"""

import runpy
import sys

from fairseq_xling.engine.lean import lean_engine

if __name__ == "__main__":
    del sys.argv[0]
    lean_engine()
    runpy.run_path(sys.argv[0], run_name="__main__")
