import math
from typing import List, Optional, Tuple

import torch

LIMIT: int = 10
SCALE = 2 * 1.5


# call: 5
def factorial(n: int) -> int:
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


# call: 30
def fibonacci(n: int) -> int:
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


# call: 27
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


# call: [3, 9, 4]
def first_even(numbers: List[int]) -> Optional[int]:
    for number in numbers:
        if number % 2 == 0:
            return number
    return None


# call: 7
def between(x: int) -> bool:
    return 0 < x < 10 and not 3 <= x <= 5


# call: 12, 18
def gcd(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a


# call: 5
def sign(n: int) -> str:
    if n < 0:
        return "negative"
    elif n == 0:
        return "zero"
    else:
        return "positive"


# call: 20
def primes(limit: int) -> List[int]:
    found: List[int] = []
    for n in range(2, limit):
        is_prime = True
        for p in found:
            if n % p == 0:
                is_prime = False
                break
        if is_prime:
            found.append(n)
    return found


# call: 10
def skips(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        total += i
    return total


# call: 0.5
def ternary(x: float) -> str:
    return "small" if x < 1 else "middle" if x < 10 else "large"


# raises: -1
def checked(x: int) -> int:
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x


# call: 4
def raises_not(x: int) -> int:
    if x < 0:
        raise RuntimeError("negative")
    return x * 2


# raises: 3
def unreachable(x: int) -> int:
    if x == 1:
        return 10
    elif x == 2:
        return 20
    raise NotImplementedError("no such")


# raises: 2.0
def asserted(x: float) -> float:
    assert x < 1, "x must be below 1"
    return x


# call: 0x1F
def literals(n: int) -> int:
    return n + 0xFF + 0b101 + 0o17 + 1_000


# call: 17, 5
def divided(a: int, b: int):
    return a // b, a % b, a / b, -a // b, divmod(a, b)


# call: 6, 3
def bits(a: int, b: int):
    return a & b, a | b, a ^ b, a << b, a >> 1


# call: 2, 3
def powers(a: int, b: int):
    return a ** b, -a ** 2, a ** -1, (-a) ** 2


# call: True, False
def logic(a: bool, b: bool):
    return a and b, a or b, not a, a != b


# call: 5
def nested_calls(n: int) -> int:
    return factorial(n) + fibonacci(n)


# call: [1, 2, 3]
def total_with_else(numbers: List[int]) -> int:
    total = 0
    for i, number in enumerate(numbers):
        total += i * number
    return total


# call: [1, 2], ["a", "b"]
def zipped(numbers: List[int], words: List[str]) -> str:
    text = ""
    for number, word in zip(numbers, words):
        text += word + str(number)
    return text


# call: 3, step=2
def keyword(n: int, step: int = 1) -> int:
    return n * step


# call: 100
def bisect(target: int) -> int:
    low, high = 0, target
    while low < high:
        middle = (low + high) // 2
        if middle * middle < target:
            low = middle + 1
        else:
            high = middle
    return low


# call: 5
def pyramid(n: int) -> List[List[int]]:
    rows: List[List[int]] = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = rows[i - 1][j - 1] + rows[i - 1][j]
        rows.append(row)
    return rows


# call: 3.7
def rounded(x: float):
    return round(x), int(x), math.floor(x), math.ceil(x)


# call: 2.0
def constants(radius: float) -> float:
    return math.pi * radius ** 2 + math.e


# call: 1.0
def infinite(x: float) -> bool:
    return x < math.inf and not math.isnan(x)


# call: 2
def many_returns(n: int) -> Tuple[int, str, bool]:
    if n > 1:
        return n, "many", True
    return n, "one", False


# call: 10
def countdown(n: int) -> int:
    while True:
        n -= 3
        if n < 0:
            break
    return n


# call: 1, 5, 3
def largest(a: int, b: int, c: int):
    return max(a, b), min(b, c), max([a, b, c]), abs(-c)


# call: 2, "ab"
def type_comment(n, word):
    # type: (int, str) -> str
    return word + str(n)


# call: 4
def line_joined(n: int) -> int:
    total = n + \
        n * 2
    return (total +
            n)  # in brackets
