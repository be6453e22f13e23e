"""Products with weights in 8 bits, for models that only read or translate on a CPU.

A weight (O, I) becomes int8 with one scale for each output, a state becomes uint8 around a zero
point. The products are oneDNN's (`torch.ops.onednn`), exact in int32. Embeddings and norms stay as
they are; attention and products with a short list are in bf16 where the processor computes in it.

The layers are quantised statically: the ranges of their states are found by calibration, from
sentences that the model reads while it is converted. Each column of a state then has a scale of its
own, which the weights take over (SmoothQuant, Xiao et al., 2023, Equation 4 with alpha 0.5): the
few columns with large states that pretrained encoders have take no precision from the others. Other
states are quantised dynamically, with one scale for each row. Either way the rounding of a row does
not depend on what else is in the batch.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.compat import cpu_capabilities, operator
from fairseq_xling.engine.precision import cpu_has_bf16
from fairseq_xling.models.heads import LinearHead, listed
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.reading import FUSED, Projection, ReadingLayer, prepared, substitute

_STATE_LIMIT, _ZERO = 127, 128
_PRODUCTS = ("ops.onednn.qlinear_prepack", "ops.onednn.qlinear_pointwise.binary")
_VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")
_TINY = torch.finfo(torch.float32).tiny


def quantise(model: nn.Module, calibrate: Callable[[], object] | None = None) -> None:
    """Replace the linear layers of a float32 ``model``, and the products of its output layers.

    Args:
        calibrate: has the model read sentences like those that it will read. Without it, and in
            layers that nothing of it reaches, states get a scale for each row, which is slower.

    Raises:
        UserError: if the model is not on a CPU in float32, or torch has no such products here.
    """
    found = {(parameter.device.type, parameter.dtype) for parameter in model.parameters()}
    if found != {("cpu", torch.float32)}:
        device, dtype = next(iter(found)) if len(found) == 1 else ("several", "kinds")
        raise UserError(f"`--int8` needs a model on a CPU in fp32, got {device} {dtype}")
    missing = None in map(operator, _PRODUCTS)
    if missing or "onednn" not in torch.backends.quantized.supported_engines:
        raise UserError("`--int8` needs a torch with oneDNN, which this one does not have")
    ranges = {} if calibrate is None else _ranges(model, calibrate)
    substitute(model, lambda layer: _layer(layer, ranges.get(layer)), Int8Linear)
    if cpu_has_bf16():
        for module in model.modules():
            if isinstance(module, LinearHead) and module.project_listed is listed:
                module.project_listed = Projection(Bf16Listed)


class Bf16Listed(nn.Module):
    """`models.heads.listed` in bfloat16: there is no product of many small matrices in 8 bits.

    Logits are rounded to bfloat16, and the bias is added in float32.
    """

    def __init__(self, embeddings: Tensor, bias: Tensor):
        super().__init__()
        self.table, self.bias = embeddings.bfloat16(), bias

    @torch.no_grad()
    def forward(self, x: Tensor, tokens: Tensor) -> Tensor:
        """(R, S, D) float32 states and (R, C) tokens to (R, S, C) float32 logits."""
        table = F.embedding(tokens, self.table)
        products = torch.bmm(x.bfloat16(), table.transpose(1, 2))
        return products.float().add_(self.bias[tokens][:, None])


class Int8Linear(nn.Module):
    """x W^T + b with W (O, I) in 8 bits, b (O,), and a scale for each row of x."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        self.product, self.bias = _Product(weight, None, _Scale(1.0, _ZERO)), bias

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """(..., I) float32 to (..., O) float32."""
        # One pass for each end is faster than one for the absolute values, which are written.
        scale = torch.maximum(x.amax(-1, keepdim=True), x.amin(-1, keepdim=True).neg_())
        scale = scale.clamp_(min=_TINY).div_(_STATE_LIMIT)
        product = self.product(_rounded(x / scale))
        if self.bias is None:
            return product.mul_(scale)
        return torch.addcmul(self.bias, product, scale, out=product)


class StaticInt8Linear(nn.Module):
    """activation(x W^T + b) with W (O, I) in 8 bits, of states whose columns are in a known range.

    Args:
        absmax: (I,) the largest absolute value of each column; what exceeds it is cut.
        out: dtype of the result, or how it is rounded.
    """

    def __init__(
        self,
        linear: nn.Linear,
        absmax: Tensor,
        activation: Callable[[Tensor], Tensor] | None = None,
        out: "_Scale | torch.dtype" = torch.float32,
    ):
        super().__init__()
        weight = linear.weight.data
        absmax, heaviest = absmax.clamp(min=1e-5), weight.abs().amax(0).clamp(min=1e-5)
        columns = (absmax / heaviest).sqrt()
        scale = _Scale(float((absmax / columns).max()) / _STATE_LIMIT, _ZERO)
        self.factor = 1 / (columns * scale.scale)
        self.product = _Product(weight * columns, linear.bias.data, scale)
        self.fused = FUSED.get(activation, ("none", ""))
        self.activation, self.out = None if activation in FUSED else activation, out

    @torch.no_grad()
    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        """(n, I) to (n, O); ``residual`` (n, O) is added, in float32."""
        rounded = _rounded((x * self.factor).clamp_(-_STATE_LIMIT, _STATE_LIMIT))
        if residual is not None:
            return self.product(rounded, residual)
        if self.activation is None:
            return self.product(rounded, None, self.fused, self.out)
        y = self.activation(self.product(rounded))
        return self.out.rounded(y) if isinstance(self.out, _Scale) else y.to(self.out)


class _Scale(NamedTuple):
    """What a rounded number q stands for: (q - zero_point) scale."""

    scale: float
    zero_point: int

    def rounded(self, x: Tensor) -> Tensor:
        """uint8."""
        return (x / self.scale).round_().add_(self.zero_point).clamp_(0, 255).to(torch.uint8)


class _Product(nn.Module):
    """Rounded states times W^T, with W (O, I); ``scale`` is theirs."""

    def __init__(self, weight: Tensor, bias: Tensor | None, scale: _Scale):
        super().__init__()
        size = weight.abs().amax(1).clamp(min=_TINY) / weight_limit()
        rounded = (weight / size[:, None]).round().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.size, self.zeros = size, torch.zeros(len(size), dtype=torch.int32)
        self.bias, self.scale = bias, scale

    def __deepcopy__(self, memo: dict[int, object]) -> "_Product":
        # torch cannot copy such weights; nothing changes them, so that copies may share them.
        return self

    @torch.no_grad()
    def forward(
        self,
        rounded: Tensor,
        residual: Tensor | None = None,
        fused: tuple[str, str] = ("none", ""),
        out: _Scale | torch.dtype = torch.float32,
    ) -> Tensor:
        """(..., I) uint8 to (..., O): the activation ``fused``, or the sum with ``residual``."""
        name, algorithm = fused
        given = rounded, *self.scale, self.weight, self.size, self.zeros
        if residual is not None:
            kind = 1.0, 0, torch.float32, 1.0, 0, "add", 1.0, "none", [], ""
            product = torch.ops.onednn.qlinear_pointwise.binary
            return product(*given, residual, self.bias, *kind)
        kind = (*out, torch.uint8) if isinstance(out, _Scale) else (1.0, 0, out)
        return torch.ops.onednn.qlinear_pointwise(*given, self.bias, *kind, name, [], algorithm)


def weight_limit() -> int:
    """The largest rounded weight: 127, or 63 where the processor adds two products in 16 bits."""
    has = cpu_capabilities()
    # Of processors that are not x86, or a torch that cannot tell, the careful value is right.
    return 127 if any(has.get(name) for name in _VNNI) else 63


def _rounded(x: Tensor) -> Tensor:
    """float32 from -127 to 127, which is changed, to uint8 around 128."""
    # torch's conversion to int8 has vector instructions, that to uint8 has not.
    return x.round_().to(torch.int8).view(torch.uint8).add_(_ZERO)


class _Ranges:
    """The range of the states that each product of a layer reads."""

    def __init__(self) -> None:
        self.absmax: dict[str, Tensor] = {}  # by product: of each column
        self.least = self.largest = 0.0  # of what fc2 reads

    def watch(self, layer: EncoderLayer) -> list[torch.utils.hooks.RemovableHandle]:
        def reads(name: str) -> Callable[..., None]:
            def note(module: nn.Module, given: tuple[Tensor]) -> None:
                found = given[0].abs().flatten(0, -2).amax(0)
                self.absmax[name] = torch.maximum(found, self.absmax.get(name, found))

            return note

        def hidden(module: nn.Module, given: tuple[Tensor]) -> None:
            least, largest = given[0].aminmax()
            self.least = min(self.least, float(least))
            self.largest = max(self.largest, float(largest))

        handles = [
            getattr(layer, name).register_forward_pre_hook(reads(name))
            for name in ("qkv", "out", "fc1")
        ]
        return [*handles, layer.fc2.register_forward_pre_hook(hidden)]


def _ranges(model: nn.Module, calibrate: Callable[[], object]) -> dict[nn.Module, _Ranges]:
    """Those of the layers that ``calibrate`` reaches."""
    layers = [layer for layer in model.modules() if type(layer) is EncoderLayer]
    found = {layer: _Ranges() for layer in layers if not _is_quantised(layer)}
    handles = [handle for layer, ranges in found.items() for handle in ranges.watch(layer)]
    if not handles:
        return {}
    try:
        with torch.no_grad():
            calibrate()
    finally:
        for handle in handles:
            handle.remove()
    return {layer: ranges for layer, ranges in found.items() if ranges.absmax}


def _layer(layer: EncoderLayer, ranges: _Ranges | None) -> nn.Module:
    if ranges is None:
        for name in () if _is_quantised(layer) else ("qkv", "out", "fc1", "fc2"):
            setattr(layer, name, prepared(getattr(layer, name), Int8Linear))
        return layer
    absmax = ranges.absmax
    # Where the processor computes in bfloat16, attention does, too.
    mixed = torch.bfloat16 if cpu_has_bf16() else torch.float32
    size = max(ranges.largest - ranges.least, _TINY) / 255
    hidden = _Scale(size, round(-ranges.least / size))
    return ReadingLayer(
        layer,
        StaticInt8Linear(layer.qkv, absmax["qkv"], out=mixed),
        StaticInt8Linear(layer.out, absmax["out"]),
        StaticInt8Linear(layer.fc1, absmax["fc1"], layer.activation, hidden),
        _Product(layer.fc2.weight.data, layer.fc2.bias.data, hidden),
    )


def _is_quantised(layer: EncoderLayer) -> bool:
    return isinstance(layer.qkv, Int8Linear)
