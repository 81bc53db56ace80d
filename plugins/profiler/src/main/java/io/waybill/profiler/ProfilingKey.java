package io.waybill.profiler;

import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.intercept.OutgoingCall;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;

/** Names of events, in PyTorch's form. Stateless. */
final class ProfilingKey {

    private static final String OF_OPERATORS = "torch.ops.";

    private ProfilingKey() {}

    /**
     * Returns the name of a call, such as {@code rpc_sync#aten::add(worker0 -> worker1)}.
     *
     * @param peers source of the name of a receiver that is addressed by its id
     */
    static String of(OutgoingCall call, WorkerInfo self, Supplier<List<Incarnation>> peers) {
        String to = name(call.to(), self, peers);
        if (call.calledType() == MessageType.SCRIPT_RREF_FETCH_CALL) {
            return "to_here#(" + self.name() + ")->(" + to + ")";
        }
        String mode = call.calledType() == MessageType.SCRIPT_REMOTE_CALL
                        || call.calledType() == MessageType.PYTHON_REMOTE_CALL
                ? "rpc_remote"
                : call.isAwaited() ? "rpc_sync" : "rpc_async";
        return mode + "#" + operation(call.operation()) + "(" + self.name() + " -> " + to + ")";
    }

    /** Returns the name of the operation that a message calls. */
    static String operation(Message message) {
        MessageType type = message.type();
        boolean isByName = type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_CALL
                || type == MessageType.SCRIPT_REMOTE_CALL;
        String name = isByName ? name(message.payload()) : "";
        return name.isEmpty() ? type.name() : operation(name);
    }

    /**
     * Returns the name at the begin of the payload of a call by name; empty if there is none, so that its handler
     * refuses it.
     */
    private static String name(ByteBuffer payload) {
        if (payload.remaining() < Short.BYTES) {
            return "";
        }
        ByteBuffer bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
        int length = Invocation.nameLength(bytes.getShort());
        if (length > Invocation.MAX_NAME_BYTES || length > bytes.remaining()) {
            return "";
        }
        byte[] name = new byte[length];
        bytes.get(name);
        return new String(name, StandardCharsets.UTF_8);
    }

    private static String operation(String called) {
        int dot = called.startsWith(OF_OPERATORS) ? called.indexOf('.', OF_OPERATORS.length()) : -1;
        return dot < 0 ? called : called.substring(OF_OPERATORS.length(), dot) + "::" + called.substring(dot + 1);
    }

    private static String name(String to, WorkerInfo self, Supplier<List<Incarnation>> peers) {
        int idAt = to.startsWith("#") ? 1 : 0;
        if (idAt == to.length() || to.charAt(idAt) < '0' || to.charAt(idAt) > '9') {
            return to;
        }
        String id = to.substring(idAt);
        if (id.equals(Integer.toString(self.id()))) {
            return self.name();
        }
        for (Incarnation peer : peers.get()) {
            if (id.equals(Integer.toString(peer.worker().id()))) {
                return peer.worker().name();
            }
        }
        return to;
    }
}
