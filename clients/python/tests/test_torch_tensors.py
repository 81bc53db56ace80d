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


class View:
    """A tensor of four bytes an element on the CPU, which shows a part of a storage."""

    def __init__(self, elements: int, storage: int, copied: bool = False) -> None:
        self.device = types.SimpleNamespace(type="cpu")
        self.elements = elements
        self.storage_bytes = storage
        self.copied = copied

    def detach(self) -> "View":
        return self

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return False

    def element_size(self) -> int:
        return 4

    def numel(self) -> int:
        return self.elements

    def untyped_storage(self) -> Any:
        return types.SimpleNamespace(nbytes=lambda: self.storage_bytes)

    def clone(self) -> "View":
        return View(self.elements, 4 * self.elements, True)


class TorchTensorsTest(unittest.TestCase):
    def test_a_small_view_of_a_large_storage_is_sent_without_the_rest(self) -> None:
        for elements, storage, copied in (
            (1024, 8192, True),
            (1025, 8192, False),
            (2048, 8192, False),
            (1, 8188, False),
            (0, 8192, True),
        ):
            with self.subTest(elements=elements, storage=storage):
                self.assertEqual(
                    torch_tensors.compact(View(elements, storage)).copied,
                    copied,
                    "whether %d elements of 4 bytes are copied out of %d bytes" % (elements, storage),
                )

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
