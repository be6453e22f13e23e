"""Maxima over real positions: padding never counts."""

import os
import subprocess
import sys

import pytest
import torch

from fairseq_xling.models.tagging.layers import BiLstm, CharacterCnn, Discriminator, MaxConvolution


@pytest.mark.parametrize("junk", [0.0, 1e3, -1e3])
def test_padding_never_reaches_the_discriminators_maximum(junk):
    discriminator = Discriminator(5, 8, [2, 3], 0.0)
    lengths = torch.tensor([1, 2, 3, 6])
    states = torch.randn(4, 6, 5)
    padded = states.masked_fill((torch.arange(6) >= lengths[:, None])[..., None], junk)
    found = discriminator(padded, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = discriminator(states[row : row + 1, :length], lengths[row : row + 1])
        assert torch.allclose(alone[0], found[row], atol=1e-6), length


def test_the_maxima_are_those_of_windows_one_by_one():
    layer = MaxConvolution(3, 4, [2, 3])
    states, lengths = torch.randn(2, 5, 3), torch.tensor([5, 1])
    found = layer(states, lengths)
    for row, length in enumerate(lengths.tolist()):
        expected = []
        for conv in layer.layers:
            width = conv.kernel_size[0]
            rows = torch.cat([states[row, :length], torch.zeros(max(0, width - length), 3)])
            windows = [
                (conv.weight * rows[at : at + width].T).sum((1, 2)) + conv.bias
                for at in range(len(rows) - width + 1)
            ]
            expected.append(torch.stack(windows).relu().amax(0))
        assert torch.allclose(found[row], torch.cat(expected), atol=1e-6)


def test_a_word_has_the_same_letters_vector_in_any_company():
    letters = CharacterCnn(30, 5, 4, [2, 3, 4], 1)
    forms = torch.tensor([[3, 0, 0, 0, 0], [4, 5, 6, 7, 8]])
    both = letters(forms, torch.tensor([[0, 1]]), 0)
    alone = letters(forms[:1, :1], torch.tensor([[0]]), 0)
    assert torch.allclose(both[:, 0], alone[:, 0], atol=1e-6)


def test_languages_share_the_letters_and_may_have_filters_of_their_own():
    forms, form = torch.tensor([[3, 4]]), torch.tensor([[0]])
    shared, own = (CharacterCnn(9, 5, 4, [2], languages) for languages in (1, 2))
    assert torch.equal(shared(forms, form, 0), shared(forms, form, 1))
    assert not torch.equal(own(forms, form, 0), own(forms, form, 1))


def test_the_lstm_equals_torchs_own_on_packed_sentences():
    ours, lengths = BiLstm(4, 3), torch.tensor([5, 1, 3])
    theirs = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)
    for part, ending in ((ours.forth, ""), (ours.back, "_reverse")):
        for name, parameter in part.named_parameters():
            getattr(theirs, name + ending).data.copy_(parameter)
    states = torch.randn(3, 5, 4)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        states, lengths, batch_first=True, enforce_sorted=False
    )
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    assert torch.allclose(ours(states, lengths), expected, atol=1e-6)


WITHOUT_AVX512 = """
import torch
from fairseq_xling.models.tagging.layers import BiLstm

lstm, states, lengths = BiLstm(4, 3), torch.randn(2, 5, 4), torch.tensor([5, 2])
expected = lstm(states, lengths)
with torch.autocast("cpu", torch.bfloat16):
    for given in (states, states.bfloat16()):
        found = lstm(given, lengths)
        print((found - expected).abs().max().item())
found.float().sum().backward()
"""


def test_autocast_trains_where_the_processor_has_no_lstm_in_bf16():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_AVX512],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert all(float(difference) < 0.02 for difference in done.stdout.split()), done.stdout
