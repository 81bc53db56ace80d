"""Graph nodes at both ends of a message, and runs of torch's engine from one to the other."""

import threading
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import torch

_run = threading.local()
# nodes of C++ that keep tensors without showing them
_SAVING_TYPES = frozenset(("CopySlices", "CppFunction"))
# key of a node's metadata
_SPENT = "waybill.pass"


def _send_forward(ctx: Any, *tensors: Any) -> Any:
    return torch.empty(0)


def _send_backward(ctx: Any, _: Any) -> Any:
    raise RuntimeError("a send node is not run: its gradients come from another worker")


def _recv_forward(ctx: Any, number: int, anchor: Any, *tensors: Any) -> Any:
    ctx.number = number
    ctx.set_materialize_grads(False)
    return tuple(tensor.view_as(tensor) if not tensor.is_sparse else tensor.clone() for tensor in tensors)


def _recv_backward(ctx: Any, *gradients: Any) -> Any:
    collected: Dict[int, List[Any]] = _run.collected
    collected[ctx.number] = add(collected.get(ctx.number), list(gradients))
    return (None, None) + (None,) * len(gradients)


def _node(name: str, forward: Any, backward: Any) -> Any:
    # profiles and graphs show this name with Backward behind it
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("torch::distributed::autograd::" + name, (torch.autograd.Function,), members)


_SendRpc = _node("SendRpc", _send_forward, _send_backward)
_RecvRpc = _node("RecvRpc", _recv_forward, _recv_backward)


class Send:
    """Tensors of a message, at its sender. Its node has an edge for each of them."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.outputs = list(tensors)
        with torch.enable_grad():
            self._result = _SendRpc.apply(*tensors)
        self.node = self._result.grad_fn


class Recv:
    """Tensors of a message, at its receiver: outputs of one node, which notes their gradients."""

    def __init__(self, number: int, sender: int) -> None:
        self.number = number
        self.sender = sender
        # the engine runs the node on its way to this leaf
        self._anchor = torch.empty(0, requires_grad=True)
        self.anchor_id = id(self._anchor)
        self.node: Any = None
        self._like: List[Any] = []

    def apply(self, tensors: Sequence[Any]) -> Sequence[Any]:
        """The tensors to use in the place of the received ones."""
        self._like = [tensor.detach() for tensor in tensors]
        with torch.enable_grad():
            outputs = _RecvRpc.apply(self.number, self._anchor, *tensors)
        self.node = outputs[0].grad_fn
        return outputs  # type: ignore[no-any-return]

    def filled(self, gradients: Sequence[Any]) -> List[Any]:
        """Gradients with zeros for outputs that were not used."""
        return [torch.zeros_like(like) if g is None else g.detach() for g, like in zip(gradients, self._like)]


def add(before: Optional[List[Any]], gradients: List[Any]) -> List[Any]:
    """Sums of gradients, of which any may be absent."""
    if before is None:
        return gradients
    return [b if g is None else g if b is None else b + g for b, g in zip(before, gradients)]


def below(outputs: Sequence[Any]) -> Tuple[List[Any], List[Any]]:
    """The leaves that the graph below these tensors reaches, and its other nodes."""
    leaves: Dict[int, Any] = {}
    others = []
    stack = []
    for output in outputs:
        if output.grad_fn is None:
            leaves[id(output)] = output
        else:
            stack.append(output.grad_fn)
    seen = set(stack)
    while stack:
        node = stack.pop()
        variable = getattr(node, "variable", None)
        if variable is not None and node.name().endswith("AccumulateGrad"):
            leaves[id(variable)] = variable
            continue
        others.append(node)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return list(leaves.values()), others


def saves_tensors(node: Any) -> bool:
    """Returns whether a node keeps tensors for its run, and drops them after a run that does not retain the graph."""
    try:
        own = getattr(node, "_raw_saved_tensors", None)
    except RuntimeError:
        # it has given them up
        return True
    if own is not None:
        return len(own) > 0
    # what a compiled node keeps is not all to be seen from here
    return type(node).__name__ in _SAVING_TYPES or any(name.startswith("_raw_saved_") for name in dir(node))


def spend(each: Iterable[Any], pass_number: int) -> None:
    """Notes on these nodes that a pass has run them, and that no other one may."""
    for node in each:
        node.metadata[_SPENT] = pass_number


def is_spent(node: Any, pass_number: int) -> bool:
    """Returns whether another pass than this one was the last that may run a node."""
    return bool(node.metadata.get(_SPENT, pass_number) != pass_number)


def run_engine(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    leaves: Sequence[Any],
    collected: Dict[int, List[Any]],
    retain_graph: bool,
) -> List[Tuple[Any, Any]]:
    """Runs the engine; returns gradients of leaves, and adds those of recv nodes to ``collected``. One at a time."""
    wanted = [(output, gradient) for output, gradient in zip(outputs, gradients) if output.requires_grad]
    if not wanted or not leaves:
        return []
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    _collect_into(collected)
    try:
        torch.autograd.backward(
            [o for o, _ in wanted], [g for _, g in wanted], retain_graph=retain_graph, inputs=list(leaves)
        )
        return [(leaf, leaf.grad) for leaf in leaves if leaf.grad is not None]
    finally:
        for leaf, grad in zip(leaves, before):
            leaf.grad = grad


def _collect_into(collected: Dict[int, List[Any]]) -> None:
    # on the CPU the engine runs on the thread that calls it
    _run.collected = collected
