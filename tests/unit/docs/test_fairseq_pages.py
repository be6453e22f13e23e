"""Reference pages of what the plug-in registers with fairseq."""

import dataclasses
import re

import pytest


@pytest.fixture
def made(docs_module):
    return docs_module("fairseq_pages").fairseq_pages()


def sections(text):
    return re.findall(r"^## `(\w+)`$", text, re.M)


def test_every_task_and_criterion_of_ours_has_a_section(made):
    assert sections(made["reference/tasks.md"]) == [
        "adversarial_tagging",
        "bilingual_mlm",
        "bilstm_baseline",
        "cdlm",
        "clcr",
        "cross_lingual_transfer",
    ]
    assert sections(made["reference/criterions.md"]) == [
        "adversarial_tagging",
        "clcr",
        "cross_lingual_transfer",
        "unified_lm",
        "word_alignment",
    ]


def test_every_option_of_a_task_is_listed_with_its_default(made):
    from fairseq_xling.training.cdlm import CdlmConfig

    text = made["reference/tasks.md"].partition("## `cdlm`")[2].partition("\n## ")[0]
    names = [f.name for f in dataclasses.fields(CdlmConfig) if not f.name.startswith("_")]
    assert [n for n in names if n != "data" and f"`--{n.replace('_', '-')}`" not in text] == []
    assert "| `data` |" in text
    assert re.search(r"`--mask-prob` \| .+ \| `0.15` \|", text)


def test_architectures_stand_by_their_model_with_their_values(made):
    text = made["reference/architectures.md"]
    for name in ("separable_transformer_base", "tri_bert_large", "tri_roberta_tiny"):
        assert f"`{name}`" in text
    (base,) = re.findall(r"^\| `--encoder-layers` \| (\d+) \| \d+ \| \d+ \|$", text, re.M)
    assert base == "8"
