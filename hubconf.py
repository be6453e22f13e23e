"""For torch.hub: models that were trained here, from a local clone and a local folder.

    torch.hub.load("fairseq_xling", "separable_transformer", "encoder", source="local")

Nothing is downloaded, and checkpoints are read as plain data.
"""

from typing import Any

dependencies = ["torch", "fairseq", "numpy", "sentencepiece", "sklearn"]


def separable_transformer(
    folder: str,
    checkpoint_file: str = "checkpoint_best.pt",
    data: str | None = None,
    **options: Any,
) -> Any:
    """The encoder in a folder, as a `fairseq_xling.api.hub.HubInterface`.

    Args:
        folder: of a training, or one that `fairseq-xling export` wrote.
        checkpoint_file: the file in it.
        data: its data folder, if it has moved.
        options: ``lang``, the language of texts for which none is named, and ``device``.
    """
    from fairseq_xling.engine.prepare import prepare_engine

    prepare_engine()  # first: importing fairseq by itself would set up the program's logs
    from fairseq_xling.api.hub import load

    return load(folder, checkpoint_file, data, **options)


def tri_encoder(
    folder: str,
    checkpoint_file: str = "checkpoint_best.pt",
    data: str | None = None,
    **options: Any,
) -> Any:
    """The same for a model with a TRILayer, which can translate; another one is refused."""
    from fairseq_xling.engine.prepare import prepare_engine

    prepare_engine()
    from fairseq_xling.models.tri_encoder import TriTransformer

    return TriTransformer.from_pretrained(folder, checkpoint_file, data, **options)
