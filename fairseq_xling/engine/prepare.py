"""Makes fairseq ready for whatever uses it: what it lacks, and what is wrong in its version.

`patches` lists what is replaced. Options are checked in `commands`, what is read from a checkpoint
in `reading`, what a training does to its folders in `training`, which processes are of one training
in `processes`.
"""

import functools
import logging
import warnings

from fairseq_xling.checkpoints.files import allow_fairseq_values
from fairseq_xling.engine.compat import bound_shape_caches, require_engine


def prepare_engine() -> None:
    """Make fairseq ready; safe to call more than once.

    Raises:
        UserError: if fairseq is not installed, or in a version that this package does not know.
    """
    bound_shape_caches()
    _prepare_once()


@functools.cache
def _prepare_once() -> None:
    require_engine()
    root_level = logging.getLogger().level
    # Importing all tasks asks for tensorboardX, which those of text never use.
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    import fairseq.checkpoint_utils  # noqa: F401

    # Importing fairseq sets the root logger to DEBUG, which drowns its programs' own output.
    if logging.getLogger().level == logging.DEBUG != root_level:
        logging.getLogger().setLevel(root_level)
    # fairseq calls old names of torch at every step, and of Hydra for every configuration.
    warnings.filterwarnings("ignore", message=".*torch.cuda.amp.autocast.*")
    warnings.filterwarnings("ignore", module="hydra")
    warnings.filterwarnings("ignore", message="\\s*'config' is validated against ConfigStore")
    from fairseq_xling.engine import commands, processes, reading, training

    allow_fairseq_values()
    for module in (reading, training, commands, processes):
        module.install()
