package io.waybill.handling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.sun.management.ThreadMXBean;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.dispatch.HandlerKey;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Fields of requests and responses as they are in their records. */
@Timeout(60)
class FieldsOfRecordsTest {

    private static final long ID = MessageId.of(1, 2);
    private static final HandlerKey COUNT = HandlerKey.parse("text.count");

    private final MessageBuffer buffer = new MessageBuffer();
    private final InboundMessage message =
            new InboundMessage(new RecordView(buffer), deadline -> deadline, () -> "caller");

    /** A record in the buffer. */
    private void record(Request request) {
        int length = request.payloadLength();
        buffer.begin(request.type(), ID, 1, 2, length, 0).flags(0).payload(request.payloadArray(), 0, length);
    }

    private static Request count(String text, long limit) {
        Request request = Request.operation("ps0", "text.count");
        request.body().text("text", text).int64("limit", limit);
        return request;
    }

    @Test
    void readsTheFieldsOfEachMessage() throws RejectedMessageException {
        for (int i = 0; i < 3; i++) {
            String text = "x".repeat(1 + i * 5000); // the memory grows
            record(count(text, i));
            message.open(COUNT, Delivered.FIRST, List.of());
            assertThat(message.int64("limit")).isEqualTo(i);
            assertThat(message.text("text")).isEqualTo(text);
            assertThat(message.caller()).isEqualTo(new WorkerInfo(1, "caller"));
            assertThat(message.invocation().named()).containsEntry("limit", Value.of(i));
            message.close();
        }
    }

    @Test
    void leavesTheHandlersBufferWhereItIs() throws RejectedMessageException {
        record(count("to be", 7));
        message.open(COUNT, Delivered.FIRST, List.of());
        ByteBuffer payload = message.payload();
        payload.position(2).limit(5);
        assertThat(message.text("text")).isEqualTo("to be");
        assertThat(payload.position()).isEqualTo(2);
        assertThat(payload.limit()).isEqualTo(5);
    }

    @Test
    void refusesFieldsOnceTheHandlerHasReturned() throws RejectedMessageException {
        record(count("to be", 7));
        message.open(COUNT, Delivered.FIRST, List.of());
        message.text("text");
        message.close();
        record(count("of another request", 8));
        assertThatIllegalStateException()
                .isThrownBy(() -> message.text("text"))
                .withMessageContaining("message 1.2 was read after its handler had returned");
        assertThatIllegalStateException().isThrownBy(message::invocation);
        assertThatIllegalStateException()
                .as("the caller of a request that has ended")
                .isThrownBy(message::caller)
                .withMessage("message 1.2 was read after its handler had returned: read its caller before, and keep"
                        + " copies");
    }

    @Test
    void hasOneStringForAnOperationThatComesAgain() throws RejectedMessageException {
        message.open(HandlerKey.parse("*"), Delivered.FIRST, List.of());
        record(count("to be", 7));
        String first = message.operation();
        record(Request.operation("ps0", "text.other"));
        assertThat(message.operation()).isEqualTo("text.other");
        record(count("or not", 8));
        assertThat(message.operation()).isEqualTo("text.count").isSameAs(first);
        record(Request.operation("ps0", "été.☃"));
        assertThat(message.operation()).isEqualTo("été.☃");
        for (int i = 0; i < 2000; i++) { // more than are kept
            record(Request.operation("ps0", "text.n" + i));
            assertThat(message.operation()).isEqualTo("text.n" + i);
        }
    }

    @Test
    void allocatesNothingForNumbersAndOperations() throws RejectedMessageException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        record(count("to be", 7));
        HandlerKey any = HandlerKey.parse("*");
        int rounds = 20_000;
        long before = 0;
        long sum = 0;
        for (int i = 0; i < 2 * rounds; i++) {
            if (i == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            message.open(any, Delivered.FIRST, List.of());
            sum += message.int64("limit") + message.operation().length();
            message.close();
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(sum).isEqualTo(2L * rounds * 17);
        assertThat(allocated / rounds).as("bytes per message").isZero();
    }

    // ---- responses

    private static HeldResponse response(Value value) {
        byte[] payload = new ValueEncoder().value(value).toBytes();
        return new HeldResponse(new HeldResponse.Header(MessageType.NAMED_RET, ID, 1), payload, List.of(), List.of());
    }

    @Test
    void copiesBytesOfAResponse() {
        byte[] bytes = {1, 2, 3};
        try (HeldResponse response = response(new Value.Dict(Map.of(Value.of("blob"), Value.of(bytes))))) {
            response.bytes("blob")[0] = 9;
            assertThat(response.bytes("blob")).isEqualTo(bytes);
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> response.bytes("other"))
                    .withMessage("response: the field other is missing")
                    .matches(e -> e.code() == ErrorCode.MALFORMED_BODY && e.messageId() == ID);
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> response.int64("blob"))
                    .withMessage("response: the field blob must be of kind int, and is of kind binary");
        }
        try (HeldResponse response = response(Value.of(7))) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> response.bytes("blob"))
                    .withMessage("response: the payload has no named fields, and the field blob was asked for");
        }
    }

    @Test
    void readsWhatAnInterceptorPutInPlace() {
        Value first = new Value.Dict(Map.of(Value.of("n"), Value.of(1)));
        Value second = new Value.Dict(Map.of(Value.of("n"), Value.of(2)));
        try (UnwrappedResponse response = new UnwrappedResponse(response(first))) {
            assertThat(response.int64("n")).isEqualTo(1);
            response.unwrap(
                    MessageType.NAMED_RET, new ValueEncoder().value(second).toBytes());
            assertThat(response.int64("n")).isEqualTo(2);
        }
    }
}
