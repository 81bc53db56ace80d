from enum import Enum
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor


class Color(Enum):
    RED = 1
    GREEN = 2


class Word(Enum):
    A = "alpha"
    B = "beta"


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, n: int = 1) -> int:
        """Adds."""
        self.count += n
        return self.count


@torch.jit.script
class Stack:
    def __init__(self):
        self.items: List[int] = []

    def push(self, item: int):
        self.items.append(item)

    def pop(self) -> int:
        return self.items.pop()

    def __len__(self) -> int:
        return len(self.items)


@torch.jit.script
class Vector(object):
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def length(self) -> float:
        return (self.x * self.x + self.y * self.y) ** 0.5


@torch.jit.script
class Averages:
    def __init__(self, size: int):
        self.sum = torch.zeros(size)
        self.count = 0

    def observe(self, x: Tensor):
        self.sum += x
        self.count += 1

    def mean(self) -> Tensor:
        return self.sum / self.count


# call: 5
def counts(start: int) -> int:
    counter = Counter(start)
    counter.add()
    counter.add(10)
    return counter.count


# call: [1, 2, 3]
def stacked(numbers: List[int]) -> List[int]:
    stack = Stack()
    for number in numbers:
        stack.push(number)
    result = [len(stack.items)]
    while len(stack.items) > 0:
        result.append(stack.pop())
    return result


# call: 3.0, 4.0
def vectors(x: float, y: float) -> float:
    total = Vector(x, 0.0) + Vector(0.0, y)
    return total.length()


# call: T([[1.0, 2.0], [3.0, 4.0]])
def averaged(rows: Tensor) -> Tensor:
    averages = Averages(rows.size(1))
    for row in rows:
        averages.observe(row)
    return averages.mean()


# call: 2
def objects_in_lists(n: int) -> int:
    counters: List[Counter] = []
    for i in range(n):
        counters.append(Counter(i))
    total = 0
    for counter in counters:
        total += counter.add(5)
    return total


# call: True
def optional_object(make: bool) -> int:
    counter: Optional[Counter] = None
    if make:
        counter = Counter(7)
    if counter is not None:
        return counter.count
    return 0


# call: 1
def enum_value(n: int) -> int:
    color = Color.RED if n == 1 else Color.GREEN
    return color.value


# call: 2
def enum_compared(n: int) -> str:
    color = Color.GREEN
    if n == 1:
        color = Color.RED
    if color == Color.GREEN:
        return color.name
    return "not green"


# call: 0
def enum_words(n: int) -> str:
    return Word.A.value + Word.B.value


# call: 3
def enum_listed(n: int) -> int:
    total = 0
    for color in [Color.RED, Color.GREEN]:
        total += color.value * n
    return total


# call: 4
def attribute_changed(n: int) -> int:
    counter = Counter(0)
    counter.count = n
    counter.count *= 2
    return counter.count


# call: 3
def same_object(n: int) -> bool:
    one = Counter(n)
    other = one
    other.add(1)
    return one is other and one.count == n + 1
