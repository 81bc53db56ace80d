import array
import functools
import importlib.util
import marshal
import pickle
import types
import unittest
from typing import Any

from waybill import pickling
from waybill.errors import CodeRefused
from waybill.frames import Message

NUMPY = importlib.util.find_spec("numpy") is not None
TORCH = importlib.util.find_spec("torch") is not None


def travel(value: Any) -> Any:
    packed = pickling.pack(value)
    storages = [memoryview(bytearray(storage)) for storage in packed.table.storages]
    return pickling.unpack(packed.payload, Message(b"", packed.table.descriptors, storages), packed.buffers)


class Nested:
    """An object whose pickle has another pickle with tensors in it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        packed = pickling.pack(self.value)
        return _restore, (
            packed.payload,
            packed.table.descriptors,
            [bytes(s) for s in packed.table.storages],
            packed.buffers,
        )


def _restore(payload: bytes, descriptors: Any, storages: Any, buffers: int) -> Nested:
    views = [memoryview(bytearray(storage)) for storage in storages]
    return Nested(pickling.unpack(payload, Message(b"", descriptors, views), buffers))


class Reduced:
    """An object whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> Any:
        return self.reduced


class PicklingTest(unittest.TestCase):
    def test_plain_values(self) -> None:
        for value in [None, 5, "é", {"a": [1, (2,)]}, {1, 2}, Ellipsis, len]:
            self.assertEqual(travel(value), value)

    def test_a_large_buffer_travels_beside_the_pickle(self) -> None:
        large = pickle.PickleBuffer(bytearray(100000))
        packed = pickling.pack(large)
        self.assertEqual((packed.buffers, len(packed.table.storages[0])), (1, 100000))
        self.assertLess(len(packed.payload), 100)
        self.assertEqual(bytes(travel(large)), bytes(100000))

    def test_a_small_buffer_stays_in_the_pickle(self) -> None:
        self.assertEqual(pickling.pack(pickle.PickleBuffer(bytearray(10))).buffers, 0)
        self.assertEqual(travel(array.array("d", [1.5])), array.array("d", [1.5]))

    def test_a_function_that_has_no_name_is_refused(self) -> None:
        with self.assertRaises((AttributeError, pickle.PicklingError)):
            pickling.pack(lambda: 1)

    def test_code_is_refused_where_only_names_may_come(self) -> None:
        by_name = functools.partial(pickling.unpack, received=Message(), by_value=False)
        code = marshal.dumps(compile("6 * 7", "text", "eval"))
        for function, arguments in [
            (eval, ("6 * 7",)),
            (exec, ("pass",)),
            (marshal.loads, (code,)),
            (pickle.loads, (pickle.dumps(42),)),
            (pickling.restore_script_module, (b"",)),
        ]:
            with self.subTest(function), self.assertRaisesRegex(CodeRefused, "by.value"):
                by_name(pickle.dumps(Reduced(function, *arguments)))
        self.assertIs(pickling.unpack(b"ctypes\nFunctionType\n.", Message()), types.FunctionType)
        with self.assertRaisesRegex(CodeRefused, "types.FunctionType"):
            by_name(b"ctypes\nFunctionType\n.")
        self.assertEqual(pickling.unpack(pickle.dumps(Reduced(eval, "6 * 7")), Message()), 42)
        names = [len, Message, {"a": (1, {2})}, functools.partial(max, 1).args]
        self.assertEqual(by_name(pickle.dumps(names)), names)
        self.assertEqual(by_name(pickle.dumps("text".upper))(), "TEXT")

    @unittest.skipUnless(NUMPY, "numpy is not installed")
    def test_numpy_arrays_keep_shape_order_and_type(self) -> None:
        import numpy

        for found in [
            numpy.arange(6000.0).reshape(60, 100),
            numpy.arange(6000.0).reshape(60, 100).T,
            numpy.arange(6000)[::-3],
            numpy.ones((1000, 9), numpy.complex64)[:, 2:5],
            numpy.zeros((0, 3)),
            numpy.array(["a", "b"]),
            numpy.arange(2000, dtype=">i4"),
        ]:
            other = travel(found)
            self.assertEqual((other.dtype, other.shape), (found.dtype, found.shape))
            self.assertTrue((other == found).all())
        self.assertTrue(travel(numpy.asfortranarray(numpy.ones((100, 100)))).flags.f_contiguous)

    @unittest.skipUnless(NUMPY, "numpy is not installed")
    def test_a_received_array_lies_over_the_received_bytes(self) -> None:
        import numpy

        packed = pickling.pack(numpy.zeros(5000))
        storage = memoryview(bytearray(packed.table.storages[0]))
        found = pickling.unpack(packed.payload, Message(b"", packed.table.descriptors, [storage]), packed.buffers)
        found[0] = 1.0
        self.assertNotEqual(bytes(storage[:8]), bytes(8))

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_tensors_keep_strides_types_and_gradients(self) -> None:
        import torch

        for found in [
            torch.ones(3, 3, requires_grad=True),
            torch.ones(4, 5).t(),
            torch.tensor(3),
            torch.empty(0, 3),
            torch.ones(2, dtype=torch.bfloat16),
            torch.tensor([True, False]),
            torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3, 4, 5], (2, 3)).coalesce(),
        ]:
            other = travel(found)
            self.assertEqual(
                (other.dtype, other.shape, other.requires_grad), (found.dtype, found.shape, found.requires_grad)
            )
            self.assertTrue(
                torch.equal(other.to_dense(), found.to_dense()) if found.is_sparse else torch.equal(other, found)
            )
            if not found.is_sparse:
                self.assertEqual(other.stride(), found.stride())

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_views_of_one_storage_share_it_again(self) -> None:
        import torch

        whole = torch.arange(25.0).reshape(5, 5)
        first, part = travel([whole, whole[1:, 2:]])
        first[1, 2] = 99
        self.assertEqual(part[0, 0].item(), 99)

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_small_view_of_a_large_storage_travels_alone(self) -> None:
        import torch

        row = travel(torch.arange(1024.0 * 1024).reshape(1024, 1024)[3])
        self.assertEqual(row.storage().size(), 1024)
        self.assertEqual(row[0].item(), 3 * 1024)
        self.assertEqual(travel(torch.arange(1000.0)[:10]).storage().size(), 1000)

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_pickle_inside_a_pickle_has_tensors_of_its_own(self) -> None:
        import torch

        inner, outer = travel([Nested(torch.ones(2)), torch.zeros(3)])
        self.assertTrue(torch.equal(inner.value, torch.ones(2)))
        self.assertTrue(torch.equal(outer, torch.zeros(3)))

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_futures_do_not_travel(self) -> None:
        import torch

        with self.assertRaisesRegex(RuntimeError, "Can not pickle torch.futures.Future"):
            pickling.pack(torch.futures.Future())


if __name__ == "__main__":
    unittest.main()
