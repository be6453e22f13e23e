"""Shortlists: counts of links against a slow count, and files that do not fit."""

from collections import Counter

import numpy as np
import pytest

from fairseq_xling.core.array_file import ArrayFile
from fairseq_xling.core.errors import UserError
from fairseq_xling.data import shortlist
from fairseq_xling.data.folder import PAD, SPECIALS, DataFolder, read_dictionary
from fairseq_xling.data.shortlist import Shortlist, make_shortlist


def slow(folder, pair, linked, frequent):
    """One link at a time."""
    source, target = folder.parallel("train", *pair)
    order = folder.order("train", *pair)
    pairs, counts = Counter(), Counter()
    for words, others, links in zip(source, target, order, strict=True):
        for word, link in zip(others.tolist(), links.tolist(), strict=True):
            counts[word] += word >= SPECIALS
            if link:
                pairs[int(words[link - 1]), word] += 1
    common = sorted((w for w in counts if counts[w]), key=lambda w: (-counts[w], w))[:frequent]
    theirs = read_dictionary(folder.dictionary_path(pair[1]))
    table = []
    for number, symbol in enumerate(read_dictionary(folder.dictionary_path(pair[0]))):
        found = [theirs.index(symbol)] if number >= SPECIALS and symbol in theirs else []
        links = {word: n for (own, word), n in pairs.items() if own == number}
        found += [w for w in sorted(links, key=lambda w: (-links[w], w)) if w not in found]
        found = [word for word in found if word >= SPECIALS and word not in common][:linked]
        table.append(found + [PAD] * (linked - len(found)))
    return table, sorted(common)


@pytest.mark.parametrize("mode", ["joint", "separate"])
@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en")])
@pytest.mark.parametrize(("linked", "frequent"), [(1, 2), (3, 5), (50, 1)])
def test_a_shortlist_has_the_most_frequent_links(
    make_corpus, monkeypatch, mode, pair, linked, frequent
):
    monkeypatch.setattr(shortlist, "_BLOCK", 7)  # several blocks of this small text
    folder = DataFolder(make_corpus(mode=mode).path)
    found = make_shortlist(folder, pair, linked, frequent)
    table, common = slow(folder, pair, linked, frequent)
    assert (found.linked.tolist(), found.frequent.tolist()) == (table, common)
    assert any(row[0] != PAD for row in table[SPECIALS:])


@pytest.fixture
def written(make_corpus):
    folder = DataFolder(make_corpus(mode="separate").path)
    path = folder.path.parent / "list.safetensors"
    make_shortlist(folder, ("en", "de"), 3, 4).write(path, folder, ("en", "de"))
    return folder, path


def test_a_file_has_what_was_written(written):
    folder, path = written
    made = make_shortlist(folder, ("en", "de"), 3, 4)
    found, pair = Shortlist.read(path, folder)
    assert pair == ("en", "de") == Shortlist.read(path, folder, pair)[1]
    assert np.array_equal(made.linked, found.linked)
    assert np.array_equal(made.frequent, found.frequent)


def test_a_file_for_another_direction_or_dictionary_is_refused(written, make_corpus, monkeypatch):
    folder, path = written
    with pytest.raises(UserError, match=f"^`--shortlist` {path}: must be of de-en, got en-de$"):
        Shortlist.read(path, folder, ("de", "en"))
    with monkeypatch.context() as patched:
        patched.setattr(folder, "languages", ["de", "fr"])
        with pytest.raises(UserError, match=r"must be of two languages of de,fr, got en-de$"):
            Shortlist.read(path, folder)
    other = DataFolder(make_corpus("other", mode="joint").path)
    with pytest.raises(UserError, match=f"must be made with the dictionaries of {other.path}, got"):
        Shortlist.read(path, other, ("en", "de"))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {**a, "linked": a["linked"][1:]},
        lambda a: {**a, "linked": a["linked"] + 1000},
        lambda a: {**a, "linked": np.where(a["linked"] == PAD, a["frequent"][0], a["linked"])},
        lambda a: {**a, "frequent": a["frequent"] - 1000},
        lambda a: {**a, "frequent": a["frequent"] * 0 + PAD},
    ],
)
def test_a_damaged_table_is_refused(written, change):
    folder, path = written
    file: ArrayFile = shortlist._FILE
    arrays, about = file.read(path)
    file.write(path, change(arrays), {name: about[name] for name in ("pair", "dictionaries")})
    with pytest.raises(UserError, match=r"`--shortlist` .*: damaged; write it again"):
        Shortlist.read(path, folder, ("en", "de"))
