"""Client of the Waybill message broker.

``waybill.rpc`` has the surface of ``torch.distributed.rpc``. :func:`call` calls an operation by its name, whatever
language its handler is written in. Neither numpy nor torch is needed; a program that has imported them may send arrays
and tensors.
"""

from waybill.client import Client, call, connect, operation
from waybill.errors import CallError, CallTimeout, ErrorKind, WorkerLost

__version__ = "0.1.0"
__all__ = ["CallError", "CallTimeout", "Client", "ErrorKind", "WorkerLost", "call", "connect", "operation"]
