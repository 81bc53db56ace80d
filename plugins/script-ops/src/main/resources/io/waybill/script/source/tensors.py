def unique(input: Tensor, sorted: bool = True) -> Tensor:
    values, inverse, counts = torch._unique2(input, sorted, False, False)
    return values

def unique_consecutive(input: Tensor) -> Tensor:
    values, inverse, counts = ops.aten.unique_consecutive(input, False, False, None)
    return values

def _assert(condition: bool, message: str):
    assert condition, message
