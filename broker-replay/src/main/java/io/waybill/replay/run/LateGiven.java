package io.waybill.replay.run;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.LateReply;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.handling.Failure;
import io.waybill.handling.Reply;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An answer that comes after its handler returned. A bundle may keep it for as long as it likes.
 *
 * <p><b>Threads.</b> Any; the first answer counts.
 */
final class LateGiven implements LateReply {

    private final int worker;
    private final Reply reply = new Reply();
    private final AtomicBoolean given = new AtomicBoolean();
    private final CountDownLatch there = new CountDownLatch(1);
    private Failure failure; // written before it is there

    LateGiven(int worker) {
        this.worker = worker;
    }

    /**
     * Waits until it is there; whoever comes later is not heard.
     *
     * @param limit zero for none
     * @return whether it is there
     */
    boolean await(Duration limit) throws InterruptedException {
        if (!limit.isZero() && there.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            return true;
        }
        if (!limit.isZero() && begin()) {
            return false;
        }
        there.await(); // there is no limit, or it is being given just now
        return true;
    }

    /** Good once it is there. */
    Reply reply() {
        return reply;
    }

    /** Empty when the reply is the answer. Good once it is there. */
    Optional<Failure> failure() {
        return Optional.ofNullable(failure);
    }

    private boolean begin() {
        return given.compareAndSet(false, true);
    }

    @Override
    public Body body() {
        return reply.fields();
    }

    @Override
    public void send() {
        if (begin()) {
            if (reply.isEmpty()) {
                failure = Failure.emptyLateAnswer(worker);
            }
            there.countDown();
        }
    }

    @Override
    public void send(Value value) {
        if (begin()) {
            try {
                reply.value(value);
            } catch (RuntimeException e) { // what can't be put into an answer was none: another may be given
                reply.reset();
                given.set(false);
                throw e;
            }
            there.countDown();
        }
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        if (begin()) {
            reply.raw(payload, tensors);
            there.countDown();
        }
    }

    @Override
    public void fail(ErrorCode code, String text) {
        if (begin()) {
            failure = Failure.late(code, text);
            there.countDown();
        }
    }
}
