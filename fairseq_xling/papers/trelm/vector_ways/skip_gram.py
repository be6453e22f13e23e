"""Skip-gram on the training text, or given vectors (TreLM, Appendix A.5)."""

from pathlib import Path

from fairseq_xling.papers.trelm.vector_ways import VectorRequest, vector_ways, vectors_path
from fairseq_xling.runs.step import Step

_SEED = 1


@vector_ways.register("skip-gram")
class SkipGramWay:
    """`fairseq-xling embed train`."""

    drawn = False
    at_source = False
    method: tuple[str, ...] = ()

    @classmethod
    def step(cls, request: VectorRequest, name: str) -> Step:
        """See `VectorWay`."""
        config, output = request.config, vectors_path(request.run, name)
        way = ["--vec", config.vectors] if config.vectors else ["--dim", str(request.width)]
        if not config.vectors:
            way += [
                *cls.method,
                "--epochs",
                str(config.embed_epochs),
                "--threads",
                str(config.embed_threads),
            ]
        command = [
            *("fairseq-xling", "embed", "train", str(request.data), "--output", str(output)),
            *("--languages", ",".join(request.languages), *way),
            *("--seed", str(_SEED), *config.words("embed_args")),
        ]
        inputs = [request.data, *([Path(config.vectors)] if config.vectors else [])]
        outputs = [output, Path(f"{output}.json")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs, resumable=True)
