"""Means of the source's embeddings of the words that a word is aligned with."""

from fairseq_xling.papers.trelm.vector_ways import VectorRequest, vector_ways, vectors_path
from fairseq_xling.runs.step import Step


@vector_ways.register("linked")
class LinkedWay:
    """`fairseq-xling embed link`."""

    drawn = False
    at_source = True

    @staticmethod
    def step(request: VectorRequest, name: str) -> Step:
        output = vectors_path(request.run, name)
        command = [
            *("fairseq-xling", "embed", "link", str(request.data), "--output", str(output)),
            *("--pair", "-".join(request.pair), "--language", request.languages[-1]),
            *("--source-vectors", str(request.source_vectors)),
        ]
        inputs = [request.data, request.source_vectors]
        return Step(name, commands=[command], inputs=inputs, outputs=[output])
