import torch
from torch import Tensor, linalg
from torch.linalg import norm as length


# call: T([[4.0, 1.0], [2.0, 3.0]])
def inverted(x: Tensor):
    return torch.linalg.inv(x), torch.inverse(x), torch.linalg.det(x), torch.det(x)


# call: T([[4.0, 1.0], [2.0, 3.0]]), T([1.0, 2.0])
def solved(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.solve(a, b)


# call: T([3.0, 4.0])
def norms(x: Tensor):
    return torch.linalg.norm(x), length(x, ord=1), linalg.vector_norm(x), torch.norm(x)


# call: T([[4.0, 1.0], [1.0, 3.0]])
def decomposed(x: Tensor):
    values, vectors = torch.linalg.eigh(x)
    return values, torch.linalg.cholesky(x), (vectors @ torch.diag(values) @ vectors.t())


# call: T([[4.0, 1.0], [1.0, 3.0]])
def singular(x: Tensor):
    u, s, v = torch.linalg.svd(x)
    return s, torch.linalg.matrix_rank(x), torch.linalg.svdvals(x), u @ torch.diag(s) @ v


# call: T([[4.0, 1.0], [1.0, 3.0]])
def factored(x: Tensor) -> Tensor:
    q, r = torch.linalg.qr(x)
    return q @ r


# call: T([[1.0, 2.0], [3.0, 4.0]])
def powers(x: Tensor):
    return torch.linalg.matrix_power(x, 3), torch.matrix_exp(torch.zeros_like(x)), torch.linalg.multi_dot([x, x, x])


# call: T([1.0, 0.0, -1.0, 0.0])
def transformed(x: Tensor):
    return torch.fft.fft(x).real, torch.fft.ifft(torch.fft.fft(x)).real, torch.fft.rfft(x).abs(), torch.fft.fftfreq(4)


# call: T([0.5, 2.0])
def special(x: Tensor):
    return torch.special.gammaln(x), torch.special.erf(x), torch.special.expit(x), torch.special.xlogy(x, x)


# call: T([1.0, 0.0, 0.0]), T([0.0, 1.0, 0.0])
def products(a: Tensor, b: Tensor):
    return torch.linalg.cross(a, b), torch.cross(a, b, dim=0), torch.kron(a, b), torch.inner(a, b)


# call: T([1.0, 2.0])
def operators(x: Tensor):
    return torch.ops.aten.relu(x), torch.ops.aten.add(x, x, alpha=2)
