import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.sharing import SharingPlan, Slot


@pytest.mark.parametrize(
    ("text", "parts", "layers"),
    [
        ("", set(), set()),
        ("emb", {"tokens", "positions", "softmax"}, set()),
        ("1-3", set(), {1, 2, 3}),
        (" emb , 8, 1-2,2 ", {"tokens", "positions", "softmax"}, {1, 2, 8}),
        ("tokens,5-5", {"tokens"}, {5}),
        ("1-8", set(), set(range(1, 9))),
    ],
)
def test_a_plan_is_parsed_once_and_prints_as_a_plan(text, parts, layers):
    plan = SharingPlan.parse(text, 8)
    assert (plan.parts, plan.layers, plan.any) == (parts, layers, bool(parts or layers))
    assert SharingPlan.parse(str(plan), 8) == plan


def test_plans_that_mean_the_same_print_the_same():
    texts = ("emb,1-3", "3,2,1,softmax,tokens,positions", "1-2,emb,2-3")
    assert {str(SharingPlan.parse(text, 8)) for text in texts} == {"tokens,positions,softmax,1-3"}


@pytest.mark.parametrize("item", ["1-9", "9", "0", "0-2", "3-2"])
def test_layers_that_the_encoder_does_not_have_are_refused(item):
    with pytest.raises(
        UserError, match=rf"^`--separate` layers must lie in 1-8 \(.*, got '{item}'$"
    ):
        SharingPlan.parse(f"emb,{item}", 8)


@pytest.mark.parametrize("item", ["embed", "1-", "-1", "1-2-3", "1:3", "all"])
def test_what_is_neither_part_nor_layer_is_refused(item):
    with pytest.raises(UserError) as caught:
        SharingPlan.parse(item, 8)
    assert str(caught.value).startswith("`--separate` accepts 'emb', 'tokens', 'positions', 'softm")
    assert str(caught.value).endswith(f"; got {item!r}")


def linear(lang):
    return nn.Linear(2, 2 if lang is None else len(lang))


def test_a_shared_slot_is_one_module_for_everybody():
    slot = Slot(linear, ["en", "deu"], private=False)
    assert slot.select("en") is slot.select("deu") is slot.select(None)
    assert len(list(slot.parameters())) == 2 and not slot.is_private


def test_a_private_slot_has_a_module_for_each_language():
    slot = Slot(linear, ["en", "deu"], private=True)
    assert slot.select("en") is not slot.select("deu")
    assert slot.select("deu").out_features == 3  # made for its language
    assert len(list(slot.parameters())) == 4 and slot.is_private
    with pytest.raises(KeyError):
        slot.select(None)


def test_a_language_may_be_called_like_a_method_of_torch():
    slot = Slot(linear, ["to", "pop", "keys"], private=True)
    assert slot.to("cpu").select("to") is not slot.select("pop")
    names = {name for name, _ in slot.named_parameters()}
    assert {"private.to.weight", "private.pop.weight", "private.keys.weight"} <= names
    again = Slot(linear, ["to", "pop", "keys"], private=True)
    again.load_state_dict(slot.state_dict())
    assert again.select("to").weight.equal(slot.select("to").weight)


def test_copies_begin_alike_where_they_have_one_shape():
    slot = Slot(linear, ["en", "de", "deu", "eng"], private=True)
    en, de, deu, eng = (slot.select(lang) for lang in ("en", "de", "deu", "eng"))
    before = deu.weight.clone()
    assert not torch.equal(en.weight, de.weight)
    slot.begin_alike()
    assert torch.equal(en.weight, de.weight) and en.weight is not de.weight
    assert torch.equal(deu.weight, before) and torch.equal(eng.weight, before)


@pytest.mark.parametrize("text", ["softmax", "positions,2", "emb"])
def test_only_private_parts_begin_alike(text):
    with pytest.raises(UserError, match=r"`--separate-start` must name parts that are private"):
        SharingPlan.parse("positions,1", 4).start(text, 4)


def test_a_mistake_in_the_start_names_its_option():
    with pytest.raises(UserError, match=r"^`--separate-start` layers must lie in 1-4"):
        SharingPlan.parse("1-2", 4).start("1-9", 4)
