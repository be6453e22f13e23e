"""T: all words, in text order."""

from fairseq_xling.clcr.rows import Chosen, RowMethod, View, in_text_order, rows


@rows.register("T")
class TransformedRow(RowMethod):
    """Sequences as long as the sentences."""

    def __call__(self, view: View) -> Chosen:
        return in_text_order(view.content)
