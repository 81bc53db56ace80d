package io.waybill.exchange;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.handling.Delivered;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.PassedObjects;
import io.waybill.handling.Route;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * Message that was inside another one, as its handler sees it. Its bytes are in a separate record, which is never
 * written, with the id, sender and deadline of the other message. Reusable.
 *
 * <p><b>Threads.</b> Belongs to the thread that dispatches it, and then to the handler's. <b>Ownership.</b> Holds a
 * count of each tensor's storage and a handle of each reference until it is closed.
 */
public final class InnerMessage {

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message;
    private List<Tensor> tensors = List.of();
    private List<RRef> references = List.of();
    private String sender = ""; // name of the worker that sent the outermost request

    /**
     * Creates a message.
     *
     * @param time function from a deadline to the time until it, called for each reading of the handler
     */
    public InnerMessage(LongUnaryOperator time) {
        this.message = new InboundMessage(view, time, () -> sender);
    }

    /**
     * Copies the payload, and acquires counts and handles; all or none.
     *
     * @param outer message that it was inside of, whose sender it has
     * @throws IllegalArgumentException when a request of this type can't be inside another one
     */
    public void open(
            RequestSource outer,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> passed,
            List<? extends RRef> shared) {
        if (!type.isRequest() || !mayBeInside(type.code())) {
            throw new IllegalArgumentException(
                    "a message inside another one is a request, and none of the broker's own: " + type);
        }
        RecordView around = outer.view();
        int length = payload.remaining();
        buffer.begin(type, around.id(), around.from(), around.to(), length, 0)
                .flags(0)
                .deadlineNs(around.deadlineNs())
                .sentNs(around.sentNs())
                .parent(around.parent())
                .payload(payload, length);
        sender = outer.senderName();
        List<Tensor> retained = retain(passed);
        try {
            references = shared.isEmpty() ? List.of() : PassedObjects.handlesOf(shared);
        } catch (RuntimeException | Error e) {
            PassedObjects.release(retained, List.of());
            throw e;
        }
        tensors = retained;
    }

    /**
     * Returns whether a request of this type can be inside another one: a user's, PyTorch's, or a fetch, but no control
     * message.
     */
    private static boolean mayBeInside(int code) {
        return code <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                && (!Route.isOfReferences(code) || code == MessageType.SCRIPT_RREF_FETCH_CALL.code());
    }

    private static List<Tensor> retain(List<Tensor> passed) {
        if (passed.isEmpty()) {
            return List.of();
        }
        List<Tensor> retained = new ArrayList<>(passed.size());
        try {
            for (Tensor tensor : passed) {
                tensor.storage().retain();
                retained.add(tensor);
            }
            return List.copyOf(retained);
        } catch (RuntimeException | Error e) {
            PassedObjects.release(retained, List.of());
            throw e;
        }
    }

    /** Shows the message to the handler that is called with it. */
    public InboundMessage openFor(HandlerKey key, Delivered delivered) {
        message.open(key, delivered, tensors);
        message.references(references);
        return message;
    }

    /** Returns the record. */
    public RecordView view() {
        return view;
    }

    public int tensorCount() {
        return tensors.size();
    }

    /** Returns the size of the memory that is kept for reuse. */
    public int memoryBytes() {
        return buffer.memory().capacity();
    }

    /** Releases the counts and handles. Does not throw. */
    public void close() {
        message.close();
        PassedObjects.release(tensors, references);
        tensors = List.of();
        references = List.of();
    }
}
