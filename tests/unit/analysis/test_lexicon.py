import dataclasses

import pytest
import torch

from fairseq_xling.analysis.lexicon import Lexicon, collect_types, spell, word_starts


def test_words_begin_where_their_subwords_say(subject):
    starts = word_starts(subject.folder, subject.text_encoder("en"), "en")
    assert starts.tolist() == [False] * 6 + [True, True, False, True, True, True]


def test_a_word_of_two_subwords_is_spelt_and_found_as_one(subject):
    encoder = subject.text_encoder("en")
    assert spell(["house", "houses", "sky"], encoder) == {"house": (7,), "houses": (7, 8)}


def test_the_first_of_words_with_equal_subwords_stands_for_all(subject):
    class Lower(subject.text_encoder):
        def encode(self, lines):
            return super().encode([line.lower() for line in lines])

    assert spell(["House", "house"], Lower("en")) == {"House": (7,)}


def test_occurrences_and_means_equal_a_count_by_hand(subject):
    types = collect_types(subject, "en", [(7,), (10,), (7, 8)], "train", 0)
    assert types.counts.tolist() == [3, 3, 0]
    means = types.means()
    assert torch.equal(means[1, 0], torch.eye(8)[1])
    assert torch.equal(means[1, 1], torch.eye(8)[3])


def test_the_limit_counts_sentences(subject):
    assert collect_types(subject, "en", [(7,)], "train", 3).counts.tolist() == [2]


def test_a_sentence_cut_at_the_models_positions_loses_the_words_behind(subject):
    class Short(type(subject.encoder)):
        def states(self, sentences, lang, max_tokens=4):
            cut = [sentence[[0, -1]] for sentence in sentences]  # one subword and </s>
            yield from super().states(cut, lang)

    short = dataclasses.replace(subject, encoder=Short())
    assert collect_types(short, "en", [(7,), (6,)], "train", 0).counts.tolist() == [0, 2]


def test_a_word_that_goes_on_with_an_unknown_piece_is_another_word(subject):
    assert subject.folder.mono("train", "en")[4][:2].tolist() == [6, 3]
    assert collect_types(subject, "en", [(6,)], "train", 0).counts.tolist() == [2]


def test_several_translations_share_their_source_row(subject):
    entries = [("house", "haus"), ("house", "baum"), ("tree", "baum")]
    lexicon = Lexicon(subject, "de", entries, "train", 0)
    assert lexicon.source_words == ["house", "tree"]
    assert lexicon.target_words == ["baum", "haus"]
    assert lexicon.pairs.tolist() == [[0, 0], [0, 1], [1, 0]]
    nearest = lexicon.neighbours(1, 5)[0]["nearest"]
    assert [entry["word"] for entry in nearest] == ["haus", "baum"]
    assert nearest[0]["cosine"] == pytest.approx(1.0)
    assert all(entry["right"] for entry in nearest)
