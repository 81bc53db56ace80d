"""Values of a message with tensors and references in them, as Python's objects."""

from typing import Any, List, Sequence

from waybill import pickling, tensors
from waybill.errors import MalformedError
from waybill.frames import Message, Reference
from waybill.tensors import TensorTable
from waybill.values import DeviceName, ElementType, ReferenceIndex, SparseIndex, TensorIndex, refused


def references_of(message: Message) -> List[Any]:
    """The references of a received message as objects; to be made once."""
    return [pickling.make_reference(r) if pickling.make_reference else r for r in message.references]


class Place:
    """Tensors and references of a message of values in the making."""

    def __init__(self) -> None:
        self._table = TensorTable()
        self._references: List[Reference] = []

    def __call__(self, value: Any) -> Any:
        reference = getattr(type(value), "_wire_reference", None)
        if reference is not None:
            self._references.append(reference(value))
            return ReferenceIndex(len(self._references) - 1)
        placed = tensors.place_native(self._table, value)
        if placed is None:
            raise refused(value)
        return placed

    def message(self, payload: bytes) -> Message:
        return Message(payload, self._table.descriptors, self._table.storages, self._references)


def resolve(value: Any, message: Message, references: Sequence[Any]) -> Any:
    """A value with the message's tensors and references in the place of their indices."""
    if isinstance(value, TensorIndex):
        _check_below(value.position, len(message.descriptors), "tensor")
        return tensors.to_native(message.descriptors[value.position], message.storages)
    if isinstance(value, SparseIndex):
        return _sparse(value, message)
    if isinstance(value, ReferenceIndex):
        _check_below(value.position, len(references), "reference")
        return references[value.position]
    if isinstance(value, (ElementType, DeviceName)):
        return tensors.restore_named(value)
    if type(value) in (list, tuple):
        return type(value)(resolve(element, message, references) for element in value)
    if isinstance(value, dict):
        return {key: resolve(element, message, references) for key, element in value.items()}
    return value


def _sparse(value: SparseIndex, message: Message) -> Any:
    """A tensor in coordinate form; where torch is not loaded, what the message says of it."""
    if not tensors.has_torch():
        return value
    for position in (value.indices, value.values):
        _check_below(position, len(message.descriptors), "tensor")
    indices, values = tensors.restore_torch(
        [message.descriptors[value.indices], message.descriptors[value.values]], message.storages
    )
    try:
        return tensors.sparse(indices, values, value.sizes, value.coalesced)
    except (RuntimeError, TypeError, IndexError) as e:
        raise MalformedError("value: expected a tensor in coordinate form: %s" % e) from e


def _check_below(index: int, limit: int, what: str) -> None:
    if index >= limit:
        raise MalformedError("value: expected a %s below %d, found %d" % (what, limit, index))
