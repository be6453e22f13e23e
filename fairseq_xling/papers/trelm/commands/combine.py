"""Combine the two halves of a migration into one model.

  fairseq-xling combine forward/checkpoint_last.pt backward/checkpoint_last.pt --output combined.pt

The upper half of the layers comes from FORWARD (source to target), the lower half from BACKWARD
(target to source); everything else is the mean of both. Both must have started from the same
checkpoint. The next phase starts with `fairseq-train --finetune-from-model combined.pt`.
"""

import dataclasses

from fairseq_xling.core.named_files import NEW_FILE, Input
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Migrate"


@dataclasses.dataclass(frozen=True)
class Options:
    forward: str = argument("checkpoint of `--trelm-phase forward`", Input("FORWARD"))
    backward: str = argument("checkpoint of `--trelm-phase backward`", Input("BACKWARD"))
    output: str = option(REQUIRED, "checkpoint to write", metavar=NEW_FILE)


def run(options: Options) -> None:
    from fairseq_xling.papers.trelm.combine import combine

    print(f"{options.output}: {combine(options.forward, options.backward, options.output)}")
