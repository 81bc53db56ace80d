"""An optimizer of the tests' own, which TorchScript does not know. Imports torch."""

from typing import Any

import torch

from waybill import rpc


class Halving(torch.optim.Optimizer):
    """Subtracts half of the gradient, or fails where it is told to."""

    def __init__(self, params: Any, fails: str = "") -> None:
        super().__init__(params, {})
        self.fails = fails
        if fails == "made":
            raise ValueError("expected one that can't be made")

    def step(self, closure: Any = None) -> None:
        """Takes a step, under the name of this worker if it fails."""
        if self.fails:
            raise ArithmeticError("expected one that can't step on %s" % rpc.get_worker_info().name)
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=0.5)
