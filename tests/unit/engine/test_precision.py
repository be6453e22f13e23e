"""Which number format suits a machine, and what is said where another is asked for."""

import logging
import types

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import precision
from fairseq_xling.engine.precision import bf16_cost, computes_in_bf16, device_options, resolve


@pytest.fixture
def fake(monkeypatch):
    """A processor that has bf16 or not (None: torch cannot tell), where a product costs ``cost``
    times that of fp32."""

    def become(native, cost=7.14):
        precision.cpu_has_bf16.cache_clear()
        monkeypatch.delenv("FAIRSEQ_XLING_NATIVE_BF16", raising=False)
        monkeypatch.setattr(precision, "native_bf16", lambda: native)
        monkeypatch.setattr(precision, "bf16_cost", lambda: cost)
        monkeypatch.setattr(precision, "processor", lambda: "AMD EPYC 7742")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    yield become
    precision.cpu_has_bf16.cache_clear()


@pytest.mark.parametrize(("told", "native", "chosen"), [("0", True, "fp32"), ("1", False, "bf16")])
def test_a_variable_overrides_what_the_processor_has(fake, monkeypatch, told, native, chosen):
    fake(native)
    monkeypatch.setenv("FAIRSEQ_XLING_NATIVE_BF16", told)
    assert resolve("auto", "cpu") == chosen


def task(**changes):
    return types.SimpleNamespace(
        **{"cpu": True, "cpu_bf16": False, "cpu_precision": "fp32", **changes}
    )


@pytest.mark.parametrize(
    ("native", "cost", "expected"),
    [
        (True, 9.0, "bf16"),  # the capability decides where it is known
        (False, 0.1, "fp32"),
        (None, 0.6, "bf16"),
        (None, 1.4, "fp32"),
    ],
)
def test_auto_on_a_cpu_is_bf16_where_the_processor_computes_in_it(fake, native, cost, expected):
    fake(native, cost)
    assert resolve("auto", "cpu") == expected


@pytest.mark.parametrize(
    ("there", "able", "expected"),
    [(True, True, "bf16"), (True, False, "fp16"), (False, False, "bf16")],
)
def test_auto_on_a_gpu_is_bf16_where_it_has_it_else_fp16(monkeypatch, there, able, expected):
    def supported(including_emulation=True):
        return able or including_emulation

    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert resolve("auto", "cuda") == expected


def test_a_named_format_is_taken_except_fp16_on_a_cpu(fake):
    fake(False)
    assert [resolve(name, "cpu") for name in ("fp32", "bf16")] == ["fp32", "bf16"]
    assert [resolve(name, "cuda") for name in ("fp32", "bf16", "fp16")] == ["fp32", "bf16", "fp16"]
    with pytest.raises(
        UserError, match=r"^`--precision fp16` needs `--device cuda`; on a CPU take"
    ):
        resolve("fp16", "cpu")


@pytest.mark.parametrize(
    ("device", "name", "expected"),
    [
        ("cpu", "fp32", ["--cpu"]),
        ("cpu", "bf16", ["--cpu-bf16", "--cpu"]),
        ("cpu", "auto", ["--cpu"]),
        ("cuda", "fp32", []),
        ("cuda", "bf16", ["--bf16"]),
        ("cuda", "fp16", ["--fp16"]),
    ],
)
def test_device_and_format_become_options_of_fairseq_train(fake, device, name, expected):
    fake(False)
    assert list(device_options(name, device)) == expected


@pytest.mark.parametrize(
    ("asked", "option"),
    [({"cpu_bf16": True}, "--cpu-bf16"), ({"cpu_precision": "bf16"}, "--cpu-precision bf16")],
)
def test_bf16_on_a_processor_without_it_is_done_as_asked_and_warned_of(fake, caplog, asked, option):
    fake(False)
    with caplog.at_level(logging.INFO):
        assert computes_in_bf16(task(**asked))
    assert caplog.messages == [
        "this processor (AMD EPYC 7742) has no native bf16: a matrix product takes 7.1 times as "
        f"long as in fp32; leave out {option}"
    ]


def test_nothing_is_said_of_bf16_on_a_processor_that_has_it_nor_of_fp32(fake, caplog):
    with caplog.at_level(logging.INFO):
        fake(True)
        assert computes_in_bf16(task(cpu_bf16=True))
        fake(False)
        assert not computes_in_bf16(task())
    assert not caplog.messages


@pytest.mark.parametrize(("native", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_auto_of_a_task_says_what_it_has_chosen(fake, caplog, native, chosen):
    fake(native)
    with caplog.at_level(logging.INFO):
        assert computes_in_bf16(task(cpu_precision="auto")) == native
    assert caplog.messages == [
        f"--cpu-precision auto is {chosen} on this processor (AMD EPYC 7742)"
    ]


def test_where_a_gpu_computes_the_choice_for_a_cpu_does_not_matter(fake, caplog, monkeypatch):
    fake(False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not computes_in_bf16(task(cpu=False, cpu_precision="auto"))
    assert not caplog.messages


def test_timing_a_product_is_quick_to_repeat_and_draws_no_random_numbers():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    ratio = bf16_cost()
    assert 0.01 < ratio < 1000
    assert torch.equal(torch.get_rng_state(), state)
