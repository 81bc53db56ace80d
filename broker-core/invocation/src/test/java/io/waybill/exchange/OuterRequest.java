package io.waybill.exchange;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A request of a peer, without the peer: it notes its outcomes, and its content needs no release. */
final class OuterRequest implements RequestSource, ResponseSink {

    /** Codes of the errors that it got, and {@code response} for a response. */
    final List<String> outcomes = new CopyOnWriteArrayList<>();

    volatile long deadlineNs;
    int depth;

    private final MessageBuffer buffer;
    private final RecordView view;
    private final InboundMessage message;

    OuterRequest(MessageType type, byte... payload) {
        buffer = new MessageBuffer()
                .begin(type, MessageId.of(3, 1), 3, 7, payload.length, 0)
                .flags(0);
        buffer.payload(payload, 0, payload.length);
        view = new RecordView(buffer);
        message = new InboundMessage(view, deadline -> deadline, () -> "caller");
    }

    /** Returns a request of a type that names an operation, a function or a control call. */
    static OuterRequest named(MessageType type, String name) {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        byte[] payload = new byte[2 + text.length];
        payload[0] = (byte) text.length;
        System.arraycopy(text, 0, payload, 2, text.length);
        return new OuterRequest(type, payload);
    }

    @Override
    public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
        outcomes.add(failed == null ? "response" : failed.code().name());
        return failed == null;
    }

    @Override
    public void ended(boolean reusable, boolean returned) {
        // nothing is pooled
    }

    @Override
    public void detached() {
        // nothing is pooled
    }

    @Override
    public RecordView view() {
        return view;
    }

    @Override
    public long id() {
        return view.id();
    }

    @Override
    public long deadlineNs() {
        return deadlineNs;
    }

    @Override
    public boolean isNested() {
        return false;
    }

    @Override
    public Delivered delivered() {
        return Delivered.FIRST;
    }

    @Override
    public CallContext context() {
        return CallContext.EMPTY;
    }

    @Override
    public HandlerServices services() {
        throw new UnsupportedOperationException("its handlers make no calls");
    }

    @Override
    public InboundMessage open(HandlerEntry by) {
        message.open(by.key(), Delivered.FIRST, List.of());
        return message;
    }

    @Override
    public void giveUp() {
        // it has no content to release
    }

    @Override
    public boolean release() {
        return true;
    }

    @Override
    public String senderName() {
        return "peer";
    }

    @Override
    public boolean isFromSelf() {
        return false;
    }

    @Override
    public InnerCreation takeCreation() {
        return null;
    }

    @Override
    public int depth() {
        return depth;
    }

    @Override
    public String toString() {
        return "request 1";
    }
}
