from typing import List, Optional, Tuple

import torch
from torch import Tensor


# call: T([1.0, 2.0]), 3.0
def scaled(x, by: float):
    return x * by


# call: T([[1.0, 2.0], [3.0, 4.0]])
def reduced(x: Tensor):
    return x.sum(), x.mean(dim=0), x.max(), x.min(dim=1).values, x.prod()


# call: T([[1.0, 2.0], [3.0, 4.0]])
def shapes(x: Tensor):
    return x.shape, x.size(0), x.dim(), x.numel(), x.ndim


# call: T([1.0, 2.0, 3.0, 4.0])
def reshaped(x: Tensor):
    return x.view(2, 2), x.reshape([4, 1]), x.unsqueeze(0).squeeze(), x.view(2, -1).t()


# call: 2, 3
def created(rows: int, columns: int):
    return torch.zeros(rows, columns), torch.ones([rows]), torch.full((rows,), 7.0), torch.eye(columns)


# call: 5
def ranged(n: int):
    return torch.arange(n), torch.arange(0, n, 2), torch.linspace(0.0, 1.0, n)


# call: T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
def indexed(x: Tensor):
    return x[0], x[:, 1], x[..., -1], x[0, 1:], x[None, 0], x[x > 3]


# call: T([1.0, 2.0, 3.0])
def assigned(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 9.0
    y[1:] += 1
    return y


# call: T([1.0, -2.0, 3.0])
def where(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


# call: T([1.0, -2.0])
def branch(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x
    return -x


# call: T([[1.0, 2.0], [3.0, 4.0]]), T([1.0, 1.0])
def multiplied(a: Tensor, b: Tensor):
    return a @ b, torch.mm(a, a), a.matmul(b), torch.dot(b, b), torch.outer(b, b)


# call: [T([1.0]), T([2.0])]
def combined(parts: List[Tensor]):
    return torch.cat(parts), torch.stack(parts, dim=1), torch.stack(parts).sum(0)


# call: T([1.0, 2.0, 3.0, 4.0])
def split(x: Tensor):
    first, second = torch.chunk(x, 2)
    return first, second, torch.split(x, 3), x.unbind()


# call: T([3.0, 1.0, 2.0])
def ordered(x: Tensor):
    values, indices = torch.sort(x)
    return values, indices, torch.argsort(x, descending=True), torch.topk(x, 2)[0]


# call: T([1.4, -1.6])
def casts(x: Tensor):
    return x.int(), x.long(), x.double(), x.float(), x.to(torch.int32), x.to(dtype=torch.float64)


# call: T([1.0, 2.0])
def items(x: Tensor):
    return x[0].item(), float(x[1]), int(x.sum())


# call: T([1.0, 2.0])
def typed(x: Tensor):
    return x.dtype == torch.float32, x.dtype == torch.int64, x.is_floating_point()


# call: T([1.0, 2.0])
def placed(x: Tensor):
    return x.device == torch.device("cpu"), x.is_cuda, x.requires_grad


# call: T([[1.0, 2.0], [3.0, 4.0]])
def looped(x: Tensor) -> Tensor:
    total = torch.zeros(2)
    for row in x:
        total += row
    for i in range(x.size(0)):
        total += x[i] * i
    return total


# call: T([1.0, 2.0]), None
def optional(x: Tensor, bias: Optional[Tensor]) -> Tensor:
    if bias is not None:
        x = x + bias
    return x


# call: T([0.5])
def pointwise(x: Tensor):
    return torch.exp(x), torch.log(x), torch.sqrt(x), torch.abs(-x), torch.sigmoid(x), torch.tanh(x)


# call: T([1.0, 5.0])
def clamped(x: Tensor):
    return torch.clamp(x, 2, 4), x.clamp(min=3.0), torch.clamp(x, max=3.0)


# call: T([1.0, 2.0, 3.0])
def statistics(x: Tensor):
    return x.std(), x.var(unbiased=False), torch.median(x), x.norm(), x.cumsum(0)


# call: T([1, 1, 2])
def uniques(x: Tensor):
    return torch.unique(x), torch.bincount(x)


# call: T([[1.0, 2.0], [3.0, 4.0]])
def permuted(x: Tensor):
    return x.permute(1, 0), x.transpose(0, 1), torch.flip(x, [0]), x.T, torch.roll(x, 1, 0)


# call: T([1.0, 2.0])
def expanded(x: Tensor):
    return x.expand(2, 2), x.repeat(2), torch.tile(x, (2,)), x.unsqueeze(1).expand(-1, 3)


# call: T([[1.0, 2.0], [3.0, 4.0]]), T([[0], [1]])
def gathered(x: Tensor, at: Tensor):
    return torch.gather(x, 1, at), x.index_select(0, at[:, 0]), torch.take(x, at)


# call: T([1.0, 2.0, 3.0])
def masked(x: Tensor):
    return x.masked_fill(x > 2, 0.0), torch.masked_select(x, x > 1), x.nonzero()


# call: T([1.0, 2.0]), T([1.0, 3.0])
def compared(a: Tensor, b: Tensor):
    return a == b, torch.eq(a, b).all(), torch.equal(a, b), torch.allclose(a, a), a.ne(b)


# call: [[1, 2], [3, 4]]
def from_lists(rows: List[List[int]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float32)


# call: 2.5
def from_numbers(x: float):
    return torch.tensor(x), torch.tensor([x, 1.0]), torch.tensor([1, 2]), torch.as_tensor([True])


# call: T([[1.0, 2.0], [3.0, 4.0]])
def einsums(x: Tensor):
    return torch.einsum("ij,jk->ik", [x, x]), torch.einsum("ii", [x])


# call: T([1.0, 2.0]), T([3.0])
def grids(a: Tensor, b: Tensor):
    x, y = torch.meshgrid([a, b], indexing="ij")
    return x, y


# call: T([[4.0, 1.0], [2.0, 3.0]])
def triangles(x: Tensor):
    return torch.tril(x), torch.triu(x, 1), torch.diag(x), torch.trace(x)


# call: T([1.0, 2.0])
def in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y.add_(1).mul_(2)
    y.fill_(float(y[0]))
    return y


# call: T([1, 2, 3])
def integers(x: Tensor):
    return x // 2, x % 2, x / 2, x ** 2, x << 1, x & 1


# call: T([[1.0, 2.0], [3.0, 4.0]])
def arg_extremes(x: Tensor):
    values, indices = x.max(dim=1)
    return values, indices, x.argmax(), torch.argmin(x, dim=0)


# call: T([1.0, 2.0])
def same_storage(x: Tensor) -> Tensor:
    return x.detach().contiguous(memory_format=torch.contiguous_format)


# call: T([1.0, 2.0, 4.0])
def differences(x: Tensor):
    return torch.diff(x), x[1:] - x[:-1], torch.cumprod(x, dim=0)
