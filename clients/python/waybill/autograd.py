"""Distributed autograd, with the surface of ``torch.distributed.autograd``: gradients through Python calls.

Inside a :class:`context`, a call that carries tensors which need gradients is a pair of graph nodes: *send* at its
sender, *recv* at its receiver. ``backward`` runs torch's engine on each worker, from what has a gradient to its recv
nodes; a recv whose gradients are complete passes them to the send at the other end. Gradients are kept in the context,
not in ``.grad``.
"""

import itertools
import threading
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch

from waybill import autograd_nodes as nodes
from waybill.rpc import state

_MAX_LOCAL = (1 << 48) - 1
_SECOND_TIME = (
    "Trying to backward through the graph a second time: expected what it has saved, found that an earlier pass has "
    "given it up. Specify retain_graph=True in that pass"
)
_local = threading.local()
_lock = threading.RLock()
_contexts: Dict[int, "DistAutogradContext"] = {}
_context_numbers = itertools.count()
_message_numbers = itertools.count(1)
_passes = itertools.count(1)
# torch's engine accumulates into .grad, which must look untouched: one pass at a time does so
_engine_lock = threading.Lock()


class DistAutogradContext:
    """State of a forward pass in one worker: its sends and recvs, the workers at their other ends, and gradients."""

    def __init__(self, context_id: int) -> None:
        self.id = context_id
        self.sends: Dict[int, nodes.Send] = {}
        self.recvs: Dict[int, nodes.Recv] = {}
        # by their ids in the home, which all workers have in common
        self.known: Set[int] = set()
        self.gradients: Dict[Any, Any] = {}
        self.running: Optional["_Pass"] = None
        self.lock = threading.RLock()

    def _context_id(self) -> int:
        return self.id

    def _known_worker_ids(self) -> Set[int]:
        info_of = state.current_agent().worker.info_of
        return {info_of(worker).id for worker in self.known}

    def _send_functions(self) -> Dict[int, Any]:
        return {number: send.node for number, send in self.sends.items()}

    def _recv_functions(self) -> Dict[int, Any]:
        return {number: recv.node for number, recv in self.recvs.items()}


class context:
    """A block whose calls are recorded; its value is the context's id. Its end releases the context on all workers."""

    def __enter__(self) -> int:
        self.autograd_context = _new_context()
        return self.autograd_context._context_id()

    def __exit__(self, *_: Any) -> None:
        _release_context(self.autograd_context._context_id())


def _own_id() -> int:
    return state.current_agent().worker.info.id


def _home_id() -> int:
    return state.current_agent().worker.roster.own.home_id


def _new_context() -> DistAutogradContext:
    if getattr(_local, "context", None) is not None:
        raise RuntimeError("Already have an autograd context id for this thread.")
    made = DistAutogradContext((_own_id() << 48) + next(_context_numbers))
    with _lock:
        _contexts[made.id] = made
    _local.context = made
    return made


def _release_context(context_id: int) -> None:
    current = getattr(_local, "context", None)
    if current is not None and current.id == context_id:
        _local.context = None
    _cleanup(context_id)


def _cleanup(context_id: int) -> None:
    """Releases a context here and, through this worker, on those that it knows."""
    with _lock:
        released = _contexts.pop(context_id, None)
    if released is None:
        return
    agent = state.current_agent()
    for worker in released.known:
        try:
            agent.call_async(agent.worker.info_of(worker), _cleanup, (context_id,), {})
        except RuntimeError:
            # it has left, and its contexts with it
            pass


def _retrieve_context(context_id: int) -> DistAutogradContext:
    with _lock:
        found = _contexts.get(context_id)
    if found is None:
        raise RuntimeError("Could not find autograd context with id: %d" % context_id)
    return found


def _current_context() -> DistAutogradContext:
    found = getattr(_local, "context", None)
    if found is None:
        raise RuntimeError(
            "Current thread doesn't have a valid autograd context. Please wrap your code using: `with "
            "torch.distributed.autograd.context() as context_id` to generate a valid context"
        )
    return found  # type: ignore[no-any-return]


def _is_valid_context(context_id: int) -> None:
    """Raises RuntimeError if there is no such context here."""
    _retrieve_context(context_id)


def _get_max_id() -> int:
    return (_own_id() << 48) + _MAX_LOCAL


def _init(worker_id: int) -> None:
    """Called by programs that replace the back end; the worker's id is that of the agent."""


def _get_debug_info() -> Dict[str, str]:
    with _lock:
        running = sum(1 for c in _contexts.values() if c.running is not None and c.running.active)
        return {"num_current_backward_passes": str(running), "num_autograd_contexts": str(len(_contexts))}


def get_gradients(context_id: int) -> Dict[Any, Any]:
    """Gradients of this worker's leaves, by tensor."""
    found = _retrieve_context(context_id)
    with found.lock:
        return dict(found.gradients)


# What calls do


def current_id() -> Optional[int]:
    """Id of this thread's context; None without one."""
    found = getattr(_local, "context", None)
    return None if found is None else found.id


def enter(context_id: Optional[int]) -> Any:
    """Makes a context that of this thread, and returns what was; :func:`leave` restores it."""
    outer = getattr(_local, "context", None)
    if context_id is not None:
        _local.context = _get_or_make(context_id)
    return outer


def leave(outer: Any) -> None:
    """Restores what :func:`enter` returned."""
    _local.context = outer


def _get_or_make(context_id: int) -> DistAutogradContext:
    with _lock:
        found = _contexts.get(context_id)
        if found is None:
            found = _contexts[context_id] = DistAutogradContext(context_id)
        return found


def sent(tensors: Sequence[Any], to: int, context_id: Optional[int], always: bool) -> Optional[List[int]]:
    """Records a message with these tensors; returns what its receiver needs to know, or None outside of a context.

    :param to: the receiver's id in the home
    """
    if context_id is None or not (tensors or always):
        return None
    found = _contexts.get(context_id)
    if found is None:
        return None
    with found.lock:
        found.known.add(to)
        number = 0
        if tensors:
            number = (_home_id() << 48) + next(_message_numbers)
            found.sends[number] = nodes.Send(tensors)
    return [context_id, number, _home_id()]


def received(field: Sequence[int], tensors: Sequence[Any]) -> Sequence[Any]:
    """Records the arrival of tensors that need gradients, and returns those to use in their place."""
    context_id, number, sender = field
    found = _get_or_make(context_id) if number and tensors else _contexts.get(context_id)
    if found is None or not number or not tensors:
        return tensors
    recv = nodes.Recv(number, sender)
    with found.lock:
        found.known.add(sender)
        found.recvs[number] = recv
    return recv.apply(tensors)


# Backward


class _Pass:
    """One backward pass on one worker. A recv is complete when every root that reaches it has been run.

    Unless the graph is retained, the last run gives up what a part of the graph has saved, as torch's engine does.
    Parts that several roots share are kept until then, and marked, so that no other pass runs them.
    """

    def __init__(
        self, number: int, owner: DistAutogradContext, roots: Dict[int, Sequence[Any]], retain_graph: bool
    ) -> None:
        self.number = number
        self.active = True
        self.retain_graph = retain_graph
        self.context = owner
        self.spent: Set[int] = set()
        self.sharing: Dict[int, Set[int]] = {}
        self.shared: Dict[int, List[Any]] = {}
        self.reached: Dict[int, Set[int]] = {}
        self.leaves: Dict[int, List[Any]] = {}
        self.waiting: Dict[int, int] = {}
        self.sums: Dict[int, List[Any]] = {}
        by_node = {recv.anchor_id: recv for recv in owner.recvs.values()}
        users: Dict[Any, List[int]] = {}
        for root, outputs in roots.items():
            leaves, others = nodes.below(outputs)
            self.leaves[root] = leaves
            self.reached[root] = {by_node[id(leaf)].number for leaf in leaves if id(leaf) in by_node}
            for recv in self.reached[root]:
                self.waiting[recv] = self.waiting.get(recv, 0) + 1
            for node in others:
                users.setdefault(node, []).append(root)
                if nodes.is_spent(node, number):
                    self.spent.add(root)
        if not retain_graph:
            self._find_shared(users)

    def _find_shared(self, users: Dict[Any, List[int]]) -> None:
        for node, roots in users.items():
            if len(roots) > 1 and nodes.saves_tensors(node):
                for root in roots:
                    self.sharing.setdefault(root, set()).update(roots)
        for node, roots in users.items():
            sharing = [root for root in roots if root in self.sharing]
            if sharing and nodes.saves_tensors(node):
                for root in sharing:
                    self.shared.setdefault(root, []).append(node)

    def run_engine(self, root: int, outputs: Sequence[Any], gradients: Sequence[Any], collected: Any) -> Any:
        """Runs the engine below one root; returns gradients of its leaves. Under the engine's lock."""
        if root in self.spent:
            raise RuntimeError(_SECOND_TIME)
        others = self.sharing.pop(root, set()) - {root}
        is_kept = any(other in self.sharing for other in others)
        found = nodes.run_engine(outputs, gradients, self.leaves[root], collected, self.retain_graph or is_kept)
        nodes.spend(self.shared.pop(root, ()) if is_kept else (), self.number)
        return found


def backward(context_id: int, roots: List[Any], retain_graph: bool = False) -> None:
    """Runs backward from scalar tensors through all workers of the context, and returns when gradients are complete.

    A result that the roots do not use counts as one with a gradient of zero.

    :param retain_graph: whether another pass may go through the same graph, on any of the workers. Otherwise what it
        has saved is given up as the pass goes, and another pass that needs it raises RuntimeError
    """
    if not isinstance(roots, (list, tuple)) or not all(isinstance(root, torch.Tensor) for root in roots):
        raise TypeError(
            "backward(): incompatible function arguments: expected a list of tensors as its roots, found %s"
            % type(roots).__name__
        )
    if isinstance(context_id, bool) or not isinstance(context_id, int) or not isinstance(retain_graph, bool):
        raise TypeError("backward(): incompatible function arguments: expected an int, a list of tensors and a bool")
    found = _retrieve_context(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not root.requires_grad:
            raise RuntimeError("requires_grad not set on root")
        if root.numel() != 1:
            raise RuntimeError("%s is not a scalar, all roots need to be scalar" % root)
        if root.grad_fn is None:
            raise RuntimeError("%s does not have a valid gradient function." % root)
    number = (_home_id() << 48) + next(_passes)
    known = _begin(found, number, {0: list(roots)}, retain_graph)
    try:
        _finish(_run(known, 0, list(roots), [torch.ones_like(root) for root in roots]))
        _flush_all(found, number)
    finally:
        known.active = False


def _begin(
    found: DistAutogradContext, number: int, own_roots: Dict[int, Sequence[Any]], retain_graph: bool
) -> _Pass:
    with found.lock:
        if found.running is None or found.running.number != number:
            roots: Dict[int, Sequence[Any]] = {key: send.outputs for key, send in found.sends.items()}
            roots.update(own_roots)
            found.running = _Pass(number, found, roots, retain_graph)
        return found.running


def _run(known: _Pass, root: int, outputs: Sequence[Any], gradients: Sequence[Any]) -> List[Any]:
    """Runs the engine below one root; returns the futures of what it sent to other workers."""
    owner = known.context
    with _engine_lock:
        collected: Dict[int, List[Any]] = {}
        new = known.run_engine(root, outputs, gradients, collected)
        with owner.lock:
            for leaf, gradient in new:
                before = owner.gradients.get(leaf)
                owner.gradients[leaf] = gradient if before is None else before + gradient
            for number, found in collected.items():
                known.sums[number] = nodes.add(known.sums.get(number), found)
            complete = []
            for number in known.reached[root]:
                known.waiting[number] -= 1
                if known.waiting[number] == 0:
                    complete.append(number)
            known.active = any(known.waiting.values()) or bool(complete)
    return [_pass_on(known, number) for number in complete if number in known.sums]


def _pass_on(known: _Pass, number: int) -> Any:
    """Sends the gradients of a recv to its other end."""
    recv = known.context.recvs[number]
    gradients = recv.filled(known.sums.pop(number))
    agent = state.current_agent()
    arguments = (known.context.id, known.number, number, gradients, known.retain_graph)
    outer = enter(None)
    _local.context = None
    try:
        return agent.call_async(agent.worker.info_of(recv.sender), _feed, arguments, {})
    finally:
        leave(outer)


def _feed(context_id: int, pass_number: int, number: int, gradients: List[Any], retain_graph: bool) -> Any:
    """At the other end: runs the pass below a send. The future completes when all that follows has been done."""
    found = _retrieve_context(context_id)
    send = found.sends.get(number)
    if send is None:
        raise RuntimeError("Could not find send function for autograd message id: %d" % number)
    try:
        known = _begin(found, pass_number, {}, retain_graph)
        futures = _run(known, number, send.outputs, gradients)
    except Exception as e:
        raise RuntimeError("Error on Node %d: %s" % (_own_id(), e)) from e
    result: Any = torch.futures.Future()
    torch.futures.collect_all(futures).add_done_callback(lambda all_of: _end_feed(all_of, result))
    return result


_feed._wrapped_async_rpc_function = _feed  # type: ignore[attr-defined]


def _end_feed(all_of: Any, result: Any) -> None:
    try:
        for future in all_of.value():
            future.value()
    except Exception as e:
        text = str(e).partition("\n")[2].partition("\n")[0].partition(": ")[2] or str(e)
        result.set_exception(RuntimeError("Error on Node %d: %s" % (_own_id(), text)))
    else:
        result.set_result(None)


def _finish(futures: Sequence[Any]) -> None:
    for future in futures:
        future.wait()


def _flush_all(found: DistAutogradContext, number: int) -> None:
    """Passes on gradients that wait for roots without a gradient, until there are none on any worker."""
    agent = state.current_agent()
    own = _home_id()
    while True:
        seen: Set[int] = {own}
        moved, left = _flush(found.id, number)
        queue = list(left - seen)
        while queue:
            worker = queue.pop()
            if worker in seen:
                continue
            seen.add(worker)
            there, known = agent.call_sync(agent.worker.info_of(worker), _flush, (found.id, number), {})
            moved = moved or there
            queue += list(known - seen)
        if not moved:
            return


def _flush(context_id: int, number: int) -> Tuple[bool, Set[int]]:
    """Passes on what waits on this worker; returns whether there was something, and which workers this one knows."""
    found = _contexts.get(context_id)
    if found is None:
        return False, set()
    with found.lock:
        known = found.running
        ready: List[int] = []
        if known is not None and known.number == number:
            ready = list(known.sums)
            known.active = False
    if known is not None and ready:
        _finish([_pass_on(known, recv) for recv in ready])
    return bool(ready), set(found.known)
