def hypot(x: float, y: float) -> float:
    return torch.sqrt(x * x + y * y)

def trunc(x: float) -> int:
    return int(x)

def isclose(a: float, b: float, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    return a == b or abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
