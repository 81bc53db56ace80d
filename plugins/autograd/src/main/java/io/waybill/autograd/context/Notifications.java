package io.waybill.autograd.context;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Sends messages at least once: repeats them until the receiver has responded or has ended.
 *
 * <p><b>Threads.</b> Any; requests are repeated by the broker's timers. A call may wait for a worker that is starting,
 * so after a worker has ended or did not respond in time, its messages are sent by those timers from the first attempt
 * on, until it responds.
 */
public final class Notifications {

    private static final int MAX_ATTEMPTS = 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration FIRST_DELAY = Duration.ofMillis(20);
    private static final Duration MAX_DELAY = Duration.ofSeconds(1);

    private final Broker broker;
    private final Set<Integer> unresponsive = ConcurrentHashMap.newKeySet();

    public Notifications(Broker broker) {
        this.broker = broker;
    }

    /** Records that a worker has ended: the next one of its name may take a while to start. */
    void ended(int worker) {
        unresponsive.add(worker);
    }

    /**
     * Sends a message. Does not wait.
     *
     * @param payload payload of a request without tensors; the same for each attempt
     * @param failed receives the reason of a refusal, or of the failure of {@value #MAX_ATTEMPTS} attempts
     */
    public void send(int worker, MessageType type, ByteBuffer payload, Consumer<CallException> failed) {
        Attempts attempts = new Attempts(worker, type, payload, failed);
        if (unresponsive.contains(worker)) {
            attempts.schedule(Duration.ZERO);
        } else {
            attempts.run();
        }
    }

    /** Repeated requests with one message, until one arrives. */
    private final class Attempts implements ResponseListener, Runnable {

        private final int worker;
        private final MessageType type;
        private final ByteBuffer payload;
        private final Consumer<CallException> failed;
        private int sent;
        private Duration delay = FIRST_DELAY;

        Attempts(int worker, MessageType type, ByteBuffer payload, Consumer<CallException> failed) {
            this.worker = worker;
            this.type = type;
            this.payload = payload;
            this.failed = failed;
        }

        @Override
        public void run() {
            sent++;
            Request request = Request.raw(WorkerInfo.address(worker), type, payload.duplicate(), List.of())
                    .timeout(TIMEOUT);
            try {
                broker.caller().call(request, this);
            } catch (CallException e) {
                onFailure(e);
            } catch (IllegalStateException e) { // a replay sends nothing
                onFailure(new CallException(
                        ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, MessageId.NONE, e.getMessage(), e));
            }
        }

        @Override
        public void onResponse(Response response) {
            unresponsive.remove(worker);
        }

        @Override
        public void onFailure(CallException failure) {
            boolean isFinal = isFinal(failure);
            if (!isFinal) {
                unresponsive.add(worker);
            }
            if (isFinal || sent >= MAX_ATTEMPTS || !schedule(delay)) {
                failed.accept(failure);
            }
            delay = delay.multipliedBy(2).compareTo(MAX_DELAY) < 0 ? delay.multipliedBy(2) : MAX_DELAY;
        }

        private boolean isFinal(CallException failure) {
            return switch (failure.code()) {
                case WORKER_LOST, UNKNOWN_WORKER, UNKNOWN_TYPE, CLOSED, REFUSED, ACCESS_DENIED, MALFORMED_BODY -> true;
                default -> false;
            };
        }

        /** Schedules the next attempt; returns false if the worker is closing, or too many tasks are scheduled. */
        private boolean schedule(Duration after) {
            try {
                broker.schedule(after, this);
                return true;
            } catch (IllegalStateException e) {
                return false;
            }
        }
    }

    /** Returns whether a message did not arrive because its receiver ended, or this worker is closing. */
    static boolean isEnd(CallException failure) {
        return switch (failure.code()) {
            case WORKER_LOST, UNKNOWN_WORKER, UNKNOWN_TYPE, CLOSED -> true;
            default -> false;
        };
    }
}
