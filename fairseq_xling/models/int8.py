"""Products with weights in 8 bits, for models that only read or translate on a CPU.

A weight (O, I) becomes int8 with one scale for each output; a state becomes uint8 around a zero
point, with one scale for each row, so that a row's result does not depend on what else is in the
batch. The products are oneDNN's (`torch.ops.onednn`), exact in int32. Embeddings, norms and
attention stay as they are.
"""

import torch
from torch import Tensor, nn

from fairseq_xling.compat import cpu_capabilities
from fairseq_xling.errors import UserError
from fairseq_xling.models.heads import LinearHead

_WEIGHT_LIMIT = 127
_VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")


def quantise(model: nn.Module) -> None:
    """Replace the linear layers of a float32 ``model``, and the products of its output layers.

    Raises:
        UserError: if the model is not on a CPU in float32, or torch has no such products here.
    """
    found = {(parameter.device.type, parameter.dtype) for parameter in model.parameters()}
    if found != {("cpu", torch.float32)}:
        device, dtype = next(iter(found)) if len(found) == 1 else ("several", "kinds")
        raise UserError(f"`--int8` needs a model on a CPU in fp32, got {device} {dtype}")
    if "onednn" not in torch.backends.quantized.supported_engines:
        raise UserError("`--int8` needs a torch with oneDNN, which this one does not have")
    for module in list(model.modules()):
        if isinstance(module, LinearHead) and not isinstance(module.project, _Products):
            module.project = _Products()
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, Int8Linear(child.weight.data, child.bias.data))


class Int8Linear(nn.Module):
    """x W^T + b with W (O, I) in 8 bits; b (O,)."""

    def __init__(self, weight: Tensor, bias: Tensor):
        super().__init__()
        scale = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / _WEIGHT_LIMIT
        rounded = (weight / scale[:, None]).round().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.scale, self.bias = scale, bias
        self.zeros = torch.zeros(len(scale), dtype=torch.int32)
        self.limit = activation_limit()

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """(..., I) float32 to (..., O) float32."""
        # One pass for each end is faster than one for the absolute values, which are written.
        scale = torch.maximum(x.amax(-1, keepdim=True), x.amin(-1, keepdim=True).neg_())
        scale = scale.clamp_(min=torch.finfo(x.dtype).tiny).div_(self.limit)
        zero = self.limit + 1
        # torch's conversion to int8 has vector instructions, that to uint8 has not.
        rounded = (x / scale).round_().to(torch.int8).view(torch.uint8).add_(zero)
        product = torch.ops.onednn.qlinear_pointwise(
            rounded, 1.0, zero, self.weight, self.scale, self.zeros,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        return torch.addcmul(self.bias, product, scale, out=product)


def activation_limit() -> int:
    """The largest rounded state: 127, or 63 where the processor adds two products in 16 bits."""
    has = cpu_capabilities()
    # Of processors that are not x86, or a torch that cannot tell, the careful value is right.
    return 127 if any(has.get(name) for name in _VNNI) else 63


class _Products:
    """`torch.nn.functional.linear` in 8 bits, which prepares each weight the first time.

    Several languages may share a head, and have their own embeddings.
    """

    def __init__(self) -> None:
        self._prepared: dict[int, tuple[Tensor, Int8Linear]] = {}  # the weight stays alive: its id

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if id(weight) not in self._prepared:
            self._prepared[id(weight)] = weight, Int8Linear(weight.data, bias.data)
        return self._prepared[id(weight)][1](x)
