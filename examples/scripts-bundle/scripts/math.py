import torch
from typing import List


def scale(x: torch.Tensor, by: float = 2.0):
    return shift(x, 0.0) * by


def shift(x: torch.Tensor, by: float):
    return x + by


def longest(words: List[str]) -> str:
    found = ""
    for word in words:
        if len(word) > len(found):
            found = word
    return found
