from collections import namedtuple
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor


class Point(NamedTuple):
    x: float
    y: float


class Labeled(NamedTuple):
    values: Tensor
    label: str
    rank: int = 1


# call: [3, 1, 2]
def list_methods(numbers: List[int]) -> List[int]:
    numbers.append(9)
    numbers.extend([7, 8])
    numbers.insert(0, 5)
    numbers.remove(1)
    numbers.reverse()
    return numbers


# call: [3, 1, 2]
def list_sorts(numbers: List[int]) -> List[int]:
    numbers.sort(reverse=True)
    return numbers + sorted([5, 4])


# call: [1, 2, 3, 4]
def comprehension(numbers: List[int]) -> List[int]:
    return [n * n + 1 for n in numbers]


# call: [1, 2, 3, 4, 5]
def slices(numbers: List[int]):
    return numbers[1:3], numbers[-2:], numbers[:2], numbers[::2]


# call: [5, 6, 7]
def pops(numbers: List[int]):
    last = numbers.pop()
    first = numbers.pop(0)
    return first, last, len(numbers), numbers.index(6)


# call: [[1, 2], [3]]
def flattened(rows: List[List[int]]) -> List[int]:
    flat: List[int] = []
    for row in rows:
        for n in row:
            flat.append(n)
    return flat


# call: [1, 2], 2
def contains(numbers: List[int], n: int) -> bool:
    return n in numbers and 7 not in numbers


# call: [0.5, 1.5]
def sums(numbers: List[float]):
    return sum(numbers), max(numbers), min(numbers)


# call: [True, False]
def any_all(flags: List[bool]):
    return any(flags), all(flags)


# call: {"a": 1, "b": 2}
def dict_total(prices: Dict[str, int]) -> int:
    total = 0
    for name, price in prices.items():
        total += price * len(name)
    return total


# call: {"a": 1}
def dict_methods(entries: Dict[str, int]):
    entries["b"] = 2
    entries.update({"c": 3})
    removed = entries.pop("a")
    return entries.get("zzz", -1), removed, len(entries), "c" in entries


# call: {2: "two", 1: "one"}
def int_keys(names: Dict[int, str]) -> List[int]:
    return list(names.keys())


# call: {0.5: 1}
def float_keys(table: Dict[float, int]) -> Dict[float, int]:
    table[1.5] = 2
    return table


# call: ["x", "y"]
def dict_comprehension(words: List[str]) -> Dict[str, int]:
    return {word: len(word) for word in words}


# call: {"a": [1, 2]}
def nested_dict(table: Dict[str, List[int]]) -> Dict[str, List[int]]:
    table["b"] = [3]
    table["a"].append(4)
    return table


# call: (1, "a")
def tuple_parts(pair: Tuple[int, str]):
    number, word = pair
    return word, number, pair[0]


# call: 3
def starred(n: int):
    first, *others = (n, n + 1, n + 2)
    return first, others


# call: 1.0, 2.0
def named(x: float, y: float) -> Point:
    return Point(x, y)


# call: (3.0, 4.0)
def named_in(point: Point) -> float:
    return point.x * point.x + point.y * point[1]


# call: [(3.0, 4.0), (1.0, 2.0)]
def named_list(points: List[Point]) -> List[Point]:
    return [Point(p.y, p.x) for p in points]


# call: T([1.0, 2.0])
def named_default(values: Tensor) -> Labeled:
    return Labeled(values, label="first")


# call: T([1.0, 2.0])
def named_keywords(values: Tensor) -> Labeled:
    return Labeled(label="second", values=values * 2, rank=5)


# call: None
def named_optional(point: Optional[Point]) -> Optional[float]:
    if point is not None:
        return point.x
    return None


# call: {"a": (1.0, 2.0)}
def named_values(points: Dict[str, Point]) -> float:
    return points["a"].y


# call: 5
def either(value: Union[int, str]) -> str:
    if isinstance(value, int):
        return "int " + str(value)
    return "str " + value


# call: "x"
def either_word(value: Union[int, str, List[int]]) -> int:
    if isinstance(value, str):
        return len(value)
    elif isinstance(value, int):
        return value
    return len(value)


# call: [1, 2]
def anything(value: Any) -> str:
    if isinstance(value, int):
        return "int"
    elif torch.jit.isinstance(value, List[int]):
        return "ints"
    return "other"


# call: None, 3
def optional(a: Optional[int], b: Optional[int] = None) -> int:
    total = 0
    if a is not None:
        total += a
    if b is not None:
        total += b
    return total


# call: 3
def annotated(n: int) -> List[Tensor]:
    empty = torch.jit.annotate(List[Tensor], [])
    for i in range(n):
        empty.append(torch.full((2,), float(i)))
    return empty


# call: [T([1.0]), T([2.0, 3.0])]
def tensor_list(tensors: List[Tensor]) -> Tensor:
    return torch.cat(tensors)


# call: {"w": T([2.0]), "b": T([1.0])}
def tensor_dict(parameters: Dict[str, Tensor]) -> Tensor:
    return parameters["w"] * 3 + parameters["b"]


# call: [1, None, 3]
def optional_elements(values: List[Optional[int]]) -> int:
    total = 0
    for value in values:
        if value is not None:
            total += value
    return total


# call: (1, (2, [3, 4]))
def nested_tuple(value: Tuple[int, Tuple[int, List[int]]]) -> int:
    return value[0] + value[1][0] + value[1][1][1]


# call: [3, 1]
def lists_compared(numbers: List[int]):
    return numbers == [3, 1], numbers != [3], len(numbers) == 2


# call: 3
def repeated(n: int) -> List[str]:
    return ["x"] * n


# call: {"x": True}
def dict_of_bools(flags: Dict[str, bool]) -> Dict[str, bool]:
    flags["y"] = not flags["x"]
    return flags


# call: [2, 1]
def ranges(bounds: List[int]):
    return [i for i in range(5, 0, -2)], list(range(bounds[0]))


# call: {"b": 1, "a": 2}
def sorted_keys(table: Dict[str, int]) -> List[str]:
    return sorted(table.keys())
