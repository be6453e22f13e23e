"""A migration with the translators that are asked for: from its forward model, autoregressive."""

from fairseq_xling.papers.trelm.autoregressive import add_autoregressive
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.config import AUTOREGRESSIVE, TrelmConfig
from fairseq_xling.papers.trelm.facts import Facts
from fairseq_xling.papers.trelm.steps import Outcome, add_migration
from fairseq_xling.papers.trelm.translator import add_searches, add_translator


def add_compared(
    book: Book, config: TrelmConfig, facts: Facts, target: str, seed: int, label: str = ""
) -> Outcome:
    """`add_migration`, with a translator and an autoregressive model if they are asked for, and the
    one corrected by the other."""
    outcome = add_migration(book, config, facts, target, seed, label)
    if not (outcome.translations and config.predicts_translations):
        return outcome
    peer = config.teacher_checkpoint
    if config.autoregressive or config.teacher == AUTOREGRESSIVE:
        peer = add_autoregressive(book, config, facts, outcome)
    if config.translator_steps:
        translator = add_translator(book, config, facts, outcome, peer)
        if config.slot_beam > 1:
            add_searches(book, config, outcome, translator, peer)
    return outcome
