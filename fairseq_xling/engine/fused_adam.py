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
from fairseq.optim import adam, fp16_optimizer, register_optimizer
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.patches import replace

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
            [torch.full((), float(step), device=device)] * len(whole),
            amsgrad=False,
            maximize=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            # torch adds it to the corrected root, fairseq to the root as it is.
            eps=group["eps"] / (1 - beta2**step) ** 0.5,
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
    norms, device = torch._foreach_norm(gradients, 2, dtype=torch.float32), gradients[0].device
    return torch.linalg.vector_norm(torch.stack([norm.to(device) for norm in norms]))


# The names of fairseq's classes: a checkpoint has them, and may be resumed by either.
class FairseqAdam(adam.FairseqAdam):
    """`--optimizer fused_adam`: `FusedAdam` on every device."""

    def __init__(self, cfg: adam.FairseqAdamConfig, params: Iterable[nn.Parameter]):
        adam.FairseqOptimizer.__init__(self, cfg)
        self._optimizer = FusedAdam(
            params, use_fp16_stats=cfg.fp16_adam_stats, **self.optimizer_config
        )

    def clip_grad_norm(
        self, max_norm: float, aggregate_norm_fn: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """As fairseq's; on a GPU, all gradients in one norm."""
        given = [parameter for parameter in self.params if parameter.grad is not None]
        experts = any(hasattr(parameter, "expert") for parameter in given)
        if len(given) < 2 or given[0].device.type == "cpu" or experts:
            return super().clip_grad_norm(max_norm, aggregate_norm_fn)
        return clip([parameter.grad for parameter in given], max_norm, aggregate_norm_fn)


@torch.no_grad()
def clip(
    gradients: list[Tensor],
    max_norm: float,
    aggregate: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """The norm of all ``gradients``, which are scaled where it is above ``max_norm``, if above 0.

    Args:
        aggregate: makes the norm of all parts of a model from that of one.
    """
    norm = total_norm(gradients)
    if aggregate is not None:
        norm = aggregate(norm)
    if max_norm > 0:
        torch._foreach_mul_(gradients, (float(max_norm) / (norm + 1e-6)).clamp_(max=1))
    return norm


register_optimizer("fused_adam", dataclass=adam.FairseqAdamConfig)(FairseqAdam)


def _adam_on_a_gpu(theirs: Any) -> type:
    class _Chosen(FairseqAdam):
        def __init__(self, cfg: adam.FairseqAdamConfig, params: Iterable[nn.Parameter]):
            if cfg.use_old_adam or cfg.tpu or adam.get_fused_adam_class() is not None:
                theirs.__init__(self, cfg, params)
            else:
                super().__init__(cfg, params)

    _Chosen.__name__ = theirs.__name__
    return _Chosen


class FP16Optimizer(fp16_optimizer.FP16Optimizer):
    """fairseq's mixed precision, whose weights are copied in one kernel; it does so tensor by
    tensor. Parameters in one flat tensor, as with ``--fp16``, are left to it."""

    def _sync_fp16_grads_to_fp32(self) -> None:
        if self.has_flat_params or not self._needs_sync:
            super()._sync_fp16_grads_to_fp32()
            return
        whole, halves = [], []
        for half, weight in zip(self.fp16_params, self.fp32_params, strict=True):
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
        self._needs_sync = False

    @torch.no_grad()
    def _sync_fp32_params_to_fp16(self) -> None:
        if self.has_flat_params:
            super()._sync_fp32_params_to_fp16()
            return
        pairs = zip(self.fp16_params, self.fp32_params, strict=True)
        kept = [(half, weight) for half, weight in pairs if half.requires_grad]
        if kept:
            torch._foreach_copy_(*map(list, zip(*kept, strict=True)))

    def zero_grad(self) -> None:
        """Those of weights in half precision are dropped, those in fp32 zero."""
        if self.has_flat_params:
            super().zero_grad()
            return
        for half in self.fp16_params:
            half.grad = None
        if whole := [weight.grad for weight in self.fp32_params if weight.grad is not None]:
            torch._foreach_zero_(whole)
        self._needs_sync = False
        if self.scaler is not None:
            self._multiply_factor = 1.0 / float(self.scaler.loss_scale)


def use_on_a_gpu() -> None:
    """Have fairseq take these where it would take those of Apex and has none.

    On a CPU nothing changes, not even the last bit of a gradient's norm.
    """
    if torch.cuda.is_available():
        replace("fairseq.optim:OPTIMIZER_REGISTRY[adam]", _adam_on_a_gpu)
        replace("fairseq.optim:FP16Optimizer", lambda theirs: FP16Optimizer)


use_on_a_gpu()
