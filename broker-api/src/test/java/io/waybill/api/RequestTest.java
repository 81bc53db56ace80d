package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class RequestTest {

    /** What a caller copies. */
    private static Map<String, Value> used(Request request) throws RejectedMessageException {
        ByteBuffer payload = ByteBuffer.wrap(request.payloadArray(), 0, request.payloadLength());
        return Invocation.decode(payload.slice(), request.tensors(), request.references())
                .named();
    }

    @Test
    void replacesAFieldAfterAUse() throws RejectedMessageException {
        Request request = Request.operation("ps0", "text.count");
        request.body().text("text", "to be").int64("limit", 7).value("words", Value.list(Value.of("a")));
        assertThat(used(request)).hasSize(3);

        request.body().text("text", "or not to be").bool("fast", true);

        assertThat(used(request))
                .isEqualTo(Map.of(
                        "text", Value.of("or not to be"),
                        "limit", Value.of(7),
                        "words", Value.list(Value.of("a")),
                        "fast", Value.of(true)));
        for (int i = 0; i < 3; i++) {
            request.body().int64("limit", i);
            assertThat(used(request)).hasSize(4).containsEntry("limit", Value.of(i));
        }
    }

    @Test
    void isUsedAgainAsItIs() throws RejectedMessageException {
        Request request = Request.operation("ps0", "text.count");
        request.body().text("text", "to be");
        assertThat(used(request)).isEqualTo(used(request));

        Request raw = Request.raw("ps0", MessageType.of(0x142), ByteBuffer.wrap(new byte[] {1}), List.of());
        assertThat(raw.payloadArray()[0]).isEqualTo((byte) 1);
        raw.payload(ByteBuffer.wrap(new byte[] {2, 3}), List.of());
        assertThat(raw.payloadLength()).isEqualTo(2);
    }

    @Test
    void copiesLargeBytesOnce() throws RejectedMessageException {
        int length = 1 << 20;
        ByteBuffer large = ByteBuffer.allocate(length + 2).position(1).limit(length + 1);
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        Request.operation("ps0", "text.count")
                .body()
                .bytes("x", large.duplicate().limit(2))
                .int64("n", 7); // loads what it takes
        Request request = Request.operation("ps0", "text.count");
        long before = threads.getCurrentThreadAllocatedBytes();
        request.body().bytes("blob", large).int64("limit", 7).text("text", "to be");
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(allocated).as("bytes allocated for %s bytes", length).isBetween((long) length, length + length / 8L);
        assertThat(large.position()).isEqualTo(1);
        assertThat(used(request))
                .containsEntry("blob", Value.of(new byte[length]))
                .hasSize(3);
    }
}
