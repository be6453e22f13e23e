"""fairseq's Adam and mixed precision, all parameters in one kernel: torch's fused AdamW with
fairseq's state.

fairseq updates tensor by tensor, some ten kernels each, which takes a seventh of a BERT-base step
on an H100. With this plug-in `--optimizer adam` uses the fused kernel on a GPU, where fairseq would
use Apex's, unless `--use-old-adam` is given; `--optimizer fused_adam` uses it on a CPU, too. A
training may be resumed with any of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from fairseq import utils
from fairseq.optim import adam, fp16_optimizer, register_optimizer
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError

_HALF = (torch.float16, torch.bfloat16)
_NUMBERS_AT_ONCE = 1 << 24  # of parameters in half precision, which are updated in copies


class FusedAdam(torch.optim.Optimizer):
    """Adam with decoupled weight decay, equal to `fairseq.optim.adam.Adam` but for rounding.

    The state of a parameter is fairseq's: ``step`` (int), ``exp_avg`` and ``exp_avg_sq`` (float32).
    A parameter without a gradient is left alone.
    """

    supports_memory_efficient_fp16 = True
    supports_flat_params = True

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        use_fp16_stats: bool = False,
    ):
        if use_fp16_stats:
            raise UserError("`--fp16-adam-stats` needs NVIDIA's apex; leave it out")
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "amsgrad": False})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient."""
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            alike = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self._state_of(parameter)
                    state["step"] += 1
                    alike[state["step"], parameter.device].append(parameter)
            for (step, device), parameters in alike.items():
                for some in _portions(parameters):
                    self._update(some, group, step, device)
        return loss

    def _state_of(self, parameter: nn.Parameter) -> dict[str, Any]:
        state = self.state[parameter]
        if not state:
            state["step"] = 0
        for name in ("exp_avg", "exp_avg_sq"):
            if name not in state:
                state[name] = torch.zeros_like(parameter, dtype=torch.float32)
            elif state[name].device != parameter.device or state[name].dtype != torch.float32:
                # read from a checkpoint
                state[name] = state[name].to(parameter.device, torch.float32)
        return state

    def _update(
        self, parameters: list[nn.Parameter], group: dict[str, Any], step: int, device: torch.device
    ) -> None:
        weights = [parameter.data for parameter in parameters]
        whole = [weight.float() for weight in weights]  # the tensor itself if it is in fp32
        beta1, beta2 = group["betas"]
        # Not `torch.optim`'s function, which sorts tensors by kind: a GPU would wait for that.
        torch._fused_adamw_(
            whole,
            [parameter.grad.float() for parameter in parameters],
            [self.state[parameter]["exp_avg"] for parameter in parameters],
            [self.state[parameter]["exp_avg_sq"] for parameter in parameters],
            [],
            [torch.full((), float(step), device=device)] * len(weights),
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            # torch adds it to the corrected root, fairseq to the root as it is.
            eps=group["eps"] / (1 - beta2**step) ** 0.5,
            maximize=False,
        )
        for weight, updated in zip(weights, whole, strict=True):
            if weight is not updated:
                weight.copy_(updated)


def _portions(parameters: list[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """All at once; those in half precision a few at a time, since each is copied."""
    some, numbers = [], 0
    for parameter in parameters:
        some.append(parameter)
        numbers += parameter.numel() if parameter.dtype in _HALF else 0
        if numbers > _NUMBERS_AT_ONCE:
            yield some
            some, numbers = [], 0
    if some:
        yield some


def total_norm(gradients: list[Tensor]) -> Tensor:
    """The L2 norm of all ``gradients`` together, a float32 scalar on the first one's device."""
    norms = torch._foreach_norm(gradients, 2, dtype=torch.float32)
    device = gradients[0].device
    return torch.linalg.vector_norm(torch.stack([norm.to(device) for norm in norms]))


_MIXED = fp16_optimizer._FP16OptimizerMixin
_THEIRS = {
    name: getattr(_MIXED, name)
    for name in ("_sync_fp16_grads_to_fp32", "_sync_fp32_params_to_fp16", "zero_grad")
}


def copy_gradients(optimizer: Any) -> None:
    """Those of weights in half precision to those of their copies in fp32, in one kernel.

    fairseq's mixed precision does so tensor by tensor. Parameters in one flat tensor, as with
    ``--fp16``, are left to it.
    """
    if optimizer.has_flat_params or not optimizer._needs_sync:
        _THEIRS["_sync_fp16_grads_to_fp32"](optimizer)
        return
    whole, halves = [], []
    for half, weight in zip(optimizer.fp16_params, optimizer.fp32_params, strict=True):
        if not half.requires_grad:
            continue
        if half.grad is None:
            weight.grad = torch.zeros_like(weight)
        elif weight.grad is None:
            weight.grad = half.grad.float()
        else:
            whole.append(weight.grad)
            halves.append(half.grad)
    if whole:
        torch._foreach_copy_(whole, halves)
    optimizer._needs_sync = False


@torch.no_grad()
def copy_weights(optimizer: Any) -> None:
    """Those in fp32 to those in half precision, in one kernel."""
    if optimizer.has_flat_params:
        _THEIRS["_sync_fp32_params_to_fp16"](optimizer)
        return
    pairs = zip(optimizer.fp16_params, optimizer.fp32_params, strict=True)
    kept = [(half, weight) for half, weight in pairs if half.requires_grad]
    if kept:
        torch._foreach_copy_([half for half, _ in kept], [weight for _, weight in kept])


def forget_gradients(optimizer: Any) -> None:
    """Those of weights in half precision are dropped, those in fp32 zero, in one kernel."""
    if optimizer.has_flat_params:
        _THEIRS["zero_grad"](optimizer)
        return
    for half in optimizer.fp16_params:
        half.grad = None
    kept = [weight.grad for weight in optimizer.fp32_params if weight.grad is not None]
    if kept:
        torch._foreach_zero_(kept)
    optimizer._needs_sync = False
    if optimizer.scaler is not None:
        optimizer._multiply_factor = 1.0 / float(optimizer.scaler.loss_scale)


_OURS = dict(zip(_THEIRS, (copy_gradients, copy_weights, forget_gradients), strict=True))


# The name of fairseq's class: a checkpoint has it, and may be resumed by either.
class FairseqAdam(adam.FairseqAdam):
    """`--optimizer fused_adam`: `FusedAdam` on every device."""

    def __init__(self, cfg: adam.FairseqAdamConfig, params: Iterable[nn.Parameter]):
        adam.FairseqOptimizer.__init__(self, cfg)
        self._optimizer = FusedAdam(
            params, use_fp16_stats=cfg.fp16_adam_stats, **self.optimizer_config
        )


register_optimizer("fused_adam", dataclass=adam.FairseqAdamConfig)(FairseqAdam)


def use_on_a_gpu() -> None:
    """Have fairseq take these kernels where it would take those of Apex and has none.

    On a CPU nothing changes, not even the last bit of a gradient's norm.
    """
    if not torch.cuda.is_available():
        return
    apex = adam.get_fused_adam_class()
    adam.get_fused_adam_class = lambda: apex or FusedAdam
    if not utils.multi_tensor_l2norm_available:
        utils.multi_tensor_l2norm_available = True
        utils.multi_tensor_total_norm = total_norm
    for name, function in _OURS.items():
        setattr(_MIXED, name, function)


use_on_a_gpu()
