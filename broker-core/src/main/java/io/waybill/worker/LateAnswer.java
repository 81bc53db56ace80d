package io.waybill.worker;

import io.waybill.api.Body;
import io.waybill.api.ErrorCode;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.handling.Failure;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The answer to a request that comes after its handler returned. Not pooled: a bundle may keep it for as long as it likes.
 *
 * <p><b>Threads.</b> Any; the first answer counts.
 */
final class LateAnswer implements ValueReply {

    private final Inbound request;
    private final Answers answers;
    // Set by the handler's thread and by the answering one; the second of the two ends the request.
    private final AtomicBoolean first = new AtomicBoolean();
    private final AtomicBoolean given = new AtomicBoolean();
    private final ReplyBody body = new ReplyBody();
    private Failure failure; // null when the body is the answer

    LateAnswer(Inbound request, Answers answers) {
        this.request = request;
        this.answers = answers;
    }

    void handlerReturned() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    /** Whether the handler returned, and nobody has given it. Any thread. */
    boolean isAwaited() {
        return first.get() && !given.get();
    }

    /** Whether it was given, in time or not. Any thread. */
    boolean isGiven() {
        return given.get();
    }

    private void give() {
        if (!first.compareAndSet(false, true)) {
            deliver();
        }
    }

    private void deliver() {
        try {
            request.settleLate(body, failure);
        } finally {
            body.reset();
        }
    }

    private boolean begin() {
        return given.compareAndSet(false, true);
    }

    @Override
    public Body body() {
        return body.fields();
    }

    @Override
    public void send() {
        if (begin()) {
            if (body.isEmpty()) {
                failure = Failure.emptyLateAnswer(answers.workerId());
            }
            give();
        }
    }

    @Override
    public void send(Value value) {
        if (begin()) {
            try {
                body.value(value);
            } catch (RuntimeException e) {
                throw undone(e);
            }
            give();
        }
    }

    @Override
    public void send(StoredValue value) {
        if (begin()) {
            try {
                body.stored(value);
            } catch (RuntimeException e) {
                throw undone(e);
            }
            give();
        }
    }

    /** What can't be put into an answer was none: another may be given. */
    private RuntimeException undone(RuntimeException why) {
        body.reset();
        given.set(false);
        return why;
    }

    @Override
    public void send(ByteBuffer payload, List<Tensor> tensors) {
        if (begin()) {
            body.raw(payload, tensors);
            give();
        }
    }

    @Override
    public void fail(ErrorCode code, String text) {
        if (begin()) {
            failure = Failure.late(code, text);
            give();
        }
    }
}
