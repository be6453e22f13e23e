"""Tasks whose options are in their ranges, fairseq's own included, before any data is opened."""

from typing import Any

from fairseq_xling.compat import task_config
from fairseq_xling.guards.commands import check_hydra_options
from fairseq_xling.ranges import check_fields


class Checked:
    """Mixed into a task, before fairseq's own class."""

    def __init__(self, cfg: Any, **kwargs: Any):
        """Raises UserError for the first option that is out of its range."""
        super().__init__(cfg, **kwargs)
        check_fields(task_config(type(self)), cfg)
        check_hydra_options(cfg)
