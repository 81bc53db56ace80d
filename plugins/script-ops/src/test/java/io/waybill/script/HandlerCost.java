package io.waybill.script;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures what a call costs inside the handler: reading the payload, the operator, and giving back the response's storages. Run by hand, with
 * the property {@code waybill.torch.natives}; prints microseconds per call.
 */
final class HandlerCost {

    private static final int ROUNDS = 5;
    private static final int CALLS = 100_000;

    private HandlerCost() {}

    public static void main(String[] arguments) throws RejectedMessageException {
        long start = System.nanoTime();
        Calls calls = new Calls();
        System.out.printf("load %.0f ms%n", (System.nanoTime() - start) / 1e6);
        Tensor one = DirectStorage.floats(new long[] {1}, 1);
        Tensor view = new Tensor(
                DType.FLOAT32,
                new long[] {1},
                new long[] {1},
                1,
                false,
                DirectStorage.floats(new long[] {2}, 1, 2).storage());
        Map<String, Invocation> cases = new LinkedHashMap<>();
        cases.put("aten::add.Tensor, one element", call("aten::add.Tensor", Value.of(one), Value.of(one)));
        Tensor other = DirectStorage.floats(new long[] {1}, 1);
        cases.put("the same, two storages", call("aten::add.Tensor", Value.of(one), Value.of(other)));
        cases.put("aten::add, any overload", call("aten::add", Value.of(one), Value.of(other)));
        cases.put("aten::add, a number", call("aten::add", Value.of(one), Value.of(1L)));
        cases.put("aten::add, parts of storages", call("aten::add", Value.of(view), Value.of(view)));
        cases.put("aten::sum with dim list", call("aten::sum", Value.of(one), Value.ints(0), Value.of(true)));
        cases.put("aten::numel", call("aten::numel", Value.of(one)));
        for (int round = 0; round < ROUNDS; round++) {
            for (Map.Entry<String, Invocation> entry : cases.entrySet()) {
                measure(calls.handler, entry.getKey(), TestMessage.of(MessageType.SCRIPT_CALL, entry.getValue()));
            }
        }
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static void measure(ScriptCall handler, String what, TestMessage message) throws RejectedMessageException {
        long[] nanos = new long[CALLS];
        RecordingOutbox outbox = new RecordingOutbox();
        for (int i = 0; i < CALLS; i++) {
            long start = System.nanoTime();
            handler.handle(message, outbox);
            nanos[i] = System.nanoTime() - start;
            outbox.release();
        }
        Arrays.sort(nanos);
        System.out.printf(
                "%-32s mean %5.2f  p50 %5.2f  p99 %5.2f  p99.9 %6.2f us%n",
                what,
                Arrays.stream(nanos).average().orElse(0) / 1e3,
                nanos[CALLS / 2] / 1e3,
                nanos[CALLS / 100 * 99] / 1e3,
                nanos[CALLS / 1000 * 999] / 1e3);
    }
}
