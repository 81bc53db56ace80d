import typing
import warnings
from typing import Dict, List, Optional

import torch
from torch import Tensor
from torch.autograd import grad


# call: T([1.0, 2.0]), torch.float64
def converted(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype)


# call: torch.device("cpu")
def on_device(device: torch.device) -> Tensor:
    return torch.zeros(2, device=device)


# call: torch.device("cpu")
def device_back(device: torch.device) -> torch.device:
    return device


# call: T([1.0])
def device_of(x: Tensor) -> torch.device:
    return x.device


# call: T([1])
def dtype_of(x: Tensor) -> torch.dtype:
    return x.dtype


# call: torch.device("cpu")
def device_parts(device: torch.device):
    return device.type, str(device)


# call: None
def optional_dtype(dtype: Optional[torch.dtype] = None) -> Tensor:
    return torch.ones(1, dtype=dtype)


# call: 3
def by_module(n: int) -> typing.List[int]:
    result: typing.List[int] = []
    for i in range(n):
        result.append(i)
    return result


# call: T([2.0])
def without_gradient(x: Tensor) -> bool:
    y = x.clone().requires_grad_(True)
    with torch.no_grad():
        z = y * 2
    return z.requires_grad


# call: T([2.0])
def gradient(x: Tensor) -> Optional[Tensor]:
    y = x.clone().requires_grad_(True)
    z = (y * y).sum()
    return torch.autograd.grad([z], [y])[0]


# call: T([3.0])
def backward(x: Tensor) -> Optional[Tensor]:
    y = x.clone().requires_grad_(True)
    (y ** 2).sum().backward()
    return y.grad


# call: 1
def scripting(n: int) -> str:
    if torch.jit.is_scripting():
        return "script"
    return "python"


# call: T([1.0])
def forked(x: Tensor) -> Tensor:
    future = torch.jit.fork(plus, x, 2.0)
    return torch.jit.wait(future) * 2


# call: T([1.0]), 3.0
def plus(x: Tensor, by: float) -> Tensor:
    return x + by


# call: T([1.0]), 4
def forked_many(x: Tensor, n: int) -> List[Tensor]:
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(n):
        futures.append(torch.jit.fork(plus, x, float(i)))
    return [torch.jit.wait(future) for future in futures]


# call: T([1.0, 2.0])
def layouts(x: Tensor):
    return x.layout == torch.strided, x.is_contiguous(), x.is_sparse


# call: T([1.5])
def dtypes(x: Tensor):
    return x.to(torch.half).dtype, torch.zeros(1, dtype=torch.bool), torch.zeros(1, dtype=torch.long)


# call: 3
def noted(n: int) -> int:
    print("n is", n)
    return n


# call: T([1.0])
def types_checked(x: Tensor) -> bool:
    return isinstance(x, torch.Tensor) and not isinstance(x, int)


# call: T([1.0])
def is_tensor_none(x: Optional[Tensor]) -> bool:
    return x is not None


# call: 5
@torch.jit.script
def decorated(n: int) -> int:
    return n * 2


# call: 2
def calls_decorated(n: int) -> int:
    return decorated(n) + 1


# call: T([2.0])
def set_grad(x: Tensor) -> bool:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x.clone().requires_grad_(True) * 2
    torch.set_grad_enabled(before)
    return y.requires_grad
