"""Our guards in `fairseq-hydra-train`, which imports a user directory after joining processes.

    fairseq-hydra-train +hydra.callbacks.xling._target_=fairseq_xling.engine.hydra.Guards ...

Hydra calls it in each process that does a job's work, also in those of a launcher's.
"""

from typing import Any

from hydra.experimental.callback import Callback

from fairseq_xling.engine.prepare import prepare_engine


class Guards(Callback):
    """Prepares the engine before a job: launched processes are joined, or refused."""

    def on_job_start(self, config: Any, **kwargs: Any) -> None:
        prepare_engine()
