package io.waybill.simulation;

import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * What calls of a simulation take along beside numbers: tensors, in the record or in a segment, and remote references, of the caller or of the handler. Their content
 * is the number of the call, so that one that comes to another call, or whose memory was given back too early, is seen.
 *
 * <p><b>Threads.</b> The simulation's.
 */
final class SimulatedObjects {

    /** With a tensor in the request, and one in the response. */
    static final String TENSOR = "sim.tensor";
    /** With a reference of the caller, whose value the handler fetches. */
    static final String READING = "sim.reading";
    /** With a reference of the handler in the response. */
    static final String GIVING = "sim.giving";

    private static final int[] SIZES = {16, 20_000};

    private final Random random;
    private final Consumer<String> problem;

    SimulatedObjects(Random random, Consumer<String> problem) {
        this.random = random;
        this.problem = problem;
    }

    /** Attaches what an operation takes. Returns what the caller gives back when the call is sent. */
    Runnable attach(SimulatedMember caller, String operation, Request request, long number) {
        switch (operation) {
            case TENSOR -> {
                Tensor tensor = tensor(caller, number);
                request.body().tensor("t", tensor);
                return tensor.storage()::release;
            }
            case READING -> {
                RRef reference = caller.worker().rpc().rref(Value.of(number));
                request.body().value("r", Value.of(reference));
                return reference::close;
            }
            default -> {
                return () -> {};
            }
        }
    }

    private Tensor tensor(SimulatedMember member, long number) {
        int size = SIZES[random.nextInt(SIZES.length)];
        Tensor tensor = Tensor.contiguous(
                DType.UINT8, new long[] {size}, member.worker().buffers().allocate(size));
        tensor.storage().bytes(0, 1).put(0, (byte) number);
        tensor.storage().bytes(size - 1L, 1).put(0, (byte) number);
        return tensor;
    }

    /** Looks at what came with a message or a response of this call. */
    void check(long number, List<Tensor> tensors) {
        for (Tensor tensor : tensors) {
            long last = tensor.storage().sizeBytes() - 1;
            byte first = tensor.storage().bytes(0, 1).get();
            if (first != (byte) number || tensor.storage().bytes(last, 1).get() != first) {
                problem.accept("a tensor of call " + number + " has the content of " + first);
            }
        }
    }

    MessageHandler takingTensors(SimulatedMember member) {
        return (message, outbox) -> {
            long number = message.int64("n");
            Tensor given = message.tensor("t");
            check(number, message.tensors());
            boolean isEcho = random.nextBoolean();
            Tensor responded = isEcho ? given : tensor(member, number);
            if (isEcho) {
                given.storage().retain(); // the response takes a count
            }
            outbox.response().int64("n", number).tensor("t", responded);
        };
    }

    static void read(Message message, Outbox outbox) throws RejectedMessageException {
        try (Response value = message.references().get(0).toHere()) {
            outbox.response().int64("n", ((Value.Int) value.value()).value());
        }
    }

    static void give(Message message, Outbox outbox) throws RejectedMessageException {
        long number = message.int64("n");
        try (RRef made = outbox.rpc().rref(Value.of(number))) {
            outbox.response().int64("n", number).value("r", Value.of(made));
        }
    }
}
