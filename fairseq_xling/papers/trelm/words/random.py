"""Random: every embedding is drawn."""

from torch import Tensor

from fairseq_xling.papers.trelm.words import WordRequest, word_ways


@word_ways.register("random")
class Random:
    """Normal with the source's initial standard deviation."""

    reads_vectors = False

    @staticmethod
    def rows(request: WordRequest) -> tuple[Tensor, str]:
        std = request.source.shape.init_std
        return request.draw(len(request.symbols)), f"drawn, standard deviation {std:g}"
