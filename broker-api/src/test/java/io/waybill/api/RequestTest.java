package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
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
    void replacesFieldsWithoutDecodingTheOthers() throws RejectedMessageException {
        Request request = Request.operation("ps0", "text.count");
        request.body().text("text", "a".repeat(10_000)).int64("limit", 7).value("words", Value.list(Value.of("a")));
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        int rounds = 1000;
        long before = 0;
        for (int i = 0; i < 2 * rounds; i++) {
            if (i == rounds) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            request.payloadArray();
            request.body().int64("limit", i).float64("rate", i);
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(allocated / rounds)
                .as("bytes for two fields that are replaced")
                .isLessThan(1000);
        assertThat(used(request))
                .isEqualTo(Map.of(
                        "text", Value.of("a".repeat(10_000)),
                        "words", Value.list(Value.of("a")),
                        "limit", Value.of(2 * rounds - 1),
                        "rate", Value.of(2.0 * rounds - 1)));
    }

    @Test
    void replacesAFieldBesideTensors() throws RejectedMessageException {
        Tensor first = tensor();
        Tensor second = tensor();
        Request request = Request.operation("ps0", "text.count");
        request.body().tensor("a", first).int64("limit", 7).tensor("b", second);
        used(request);
        request.body().int64("limit", 8).tensor("a", second);

        assertThat(used(request)).isEqualTo(Map.of("a", Value.of(second), "b", Value.of(second), "limit", Value.of(8)));
        assertThat(request.tensors()).containsExactly(second, second);
    }

    private static Tensor tensor() {
        Storage none = (Storage) Proxy.newProxyInstance(
                Storage.class.getClassLoader(),
                new Class<?>[] {Storage.class},
                (self, method, arguments) -> method.getName().equals("sizeBytes") ? 0L : null);
        return Tensor.contiguous(DType.INT8, new long[] {0}, none);
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
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
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

    @Test
    void replacesAFieldOfAnInvocation() throws RejectedMessageException {
        Invocation call = new Invocation("text.count", List.of(), Map.of("text", Value.of("to be")));
        Request request = Request.invocation("ps0", MessageType.NAMED_CALL, call);
        used(request);
        request.body().text("text", "or not");
        assertThat(used(request)).isEqualTo(Map.of("text", Value.of("or not")));
    }
}
