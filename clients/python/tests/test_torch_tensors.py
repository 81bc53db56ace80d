import sys
import threading
import types
import unittest
from typing import Any, List
from unittest import mock

from waybill import torch_tensors


class SlowTorch(types.ModuleType):
    """A module whose float32 is not there before it may be."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.asked = threading.Event()
        self.goes_on = threading.Event()
        self.uint8 = "uint8"

    def __getattr__(self, name: str) -> Any:
        if name != "float32":
            raise AttributeError(name)
        self.asked.set()
        self.goes_on.wait(60)
        return name


class TorchTensorsTest(unittest.TestCase):
    def test_threads_that_meet_torch_at_the_same_time_know_all_element_types(self) -> None:
        torch = SlowTorch()
        found: List[Any] = []

        def look() -> None:
            torch_tensors._load()
            found.append(torch_tensors._types.get(6))

        with mock.patch.dict(sys.modules, {"torch": torch}), mock.patch.dict(
            torch_tensors._codes, clear=True
        ), mock.patch.dict(torch_tensors._types, clear=True):
            first = threading.Thread(target=look)
            first.start()
            self.assertTrue(torch.asked.wait(60))
            second = threading.Thread(target=look)
            second.start()
            second.join(0.2)  # it would be over if it took what the first one has so far
            torch.goes_on.set()
            first.join()
            second.join()
        self.assertEqual(found, ["float32", "float32"])
