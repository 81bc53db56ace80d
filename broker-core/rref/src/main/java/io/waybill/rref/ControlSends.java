package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlOutcome;
import io.waybill.rref.control.ControlRetries;
import io.waybill.rref.control.ControlTransport;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Control messages in flight, until they are acknowledged. Each is retried as {@link ControlRetries} defines. After
 * that a {@code RREF_FORK_REQUEST} has failed; the other two are retried slowly until their receiver ends, because it
 * holds a value or a fork.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class ControlSends {

    /** Callback for the end of a send. Called under the lock. */
    interface Ending {
        void acknowledged();

        /** Called when the send has failed finally. */
        default void failed(CallException why) {}
    }

    private static final Ending NOTHING = () -> {};

    private final Gate gate;
    private final Alarms alarms;
    private final Incarnations incarnations;
    private final ControlTransport transport;
    private final ReferenceListener listener;
    private final ControlRetries retries;
    private final Set<Send> open = new LinkedHashSet<>();
    private boolean closed;

    ControlSends(
            Gate gate,
            Alarms alarms,
            Incarnations incarnations,
            ControlTransport transport,
            ReferenceListener listener,
            ControlRetries retries) {
        this.gate = gate;
        this.alarms = alarms;
        this.incarnations = incarnations;
        this.transport = transport;
        this.listener = listener;
        this.retries = retries;
    }

    /** Sends a message until it is acknowledged, refused, or its receiver is dead. */
    void persist(ControlMessage message, int to) {
        start(new Send(message, to, NOTHING, true));
    }

    /** Sends a message until it is acknowledged, or the retries are used up. */
    void attempt(ControlMessage message, int to, Ending ending) {
        start(new Send(message, to, ending, false));
    }

    private void start(Send send) {
        if (!closed) {
            open.add(send);
            send.attempt();
        }
    }

    int size() {
        return open.size();
    }

    /** Drops the messages to a worker that has ended; no listener is notified. */
    void drop(Holder dead) {
        for (Send send : new ArrayList<>(open)) {
            if (send.to == dead.worker() && send.toEpoch <= dead.epoch()) {
                open.remove(send);
            }
        }
    }

    void close() {
        closed = true;
        open.clear();
    }

    /** Send of one message. */
    private final class Send {
        private final ControlMessage message;
        private final int to;
        private final int toEpoch;
        private final Ending ending;
        private final boolean persistent;
        private int failures;
        private Attempt current;

        Send(ControlMessage message, int to, Ending ending, boolean persistent) {
            this.message = message;
            this.to = to;
            this.toEpoch = incarnations.current(to, 1);
            this.ending = ending;
            this.persistent = persistent;
        }

        void attempt() {
            if (open.contains(this)) {
                Attempt next = new Attempt(this);
                current = next;
                gate.later(() -> transport.send(message, to, next));
            }
        }

        /** Ends the send: an acknowledgement of any attempt counts, however late. */
        void acknowledged() {
            if (open.remove(this)) {
                ending.acknowledged();
            }
        }

        void failed(Attempt attempt, ErrorCode code, String text) {
            if (attempt != current || !open.contains(this)) {
                return;
            }
            current = null;
            if (code == ErrorCode.REFERENCE_DELETED || code == ErrorCode.OWNER_LOST || code == ErrorCode.CLOSED) {
                end(new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text));
            } else if (failures < retries.count()) {
                alarms.in(retries.waitNs(failures++), this::attempt);
            } else {
                exhausted(code, text);
            }
        }

        private void exhausted(ErrorCode code, String text) {
            String why = "The RPC has not succeeded after the specified number of max retries (" + retries.count()
                    + "). The last error was: " + text;
            if (!persistent) {
                end(new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, why));
                return;
            }
            if (failures == retries.count()) {
                failures++;
                gate.later(() -> listener.onOverdue(message, to, why));
            }
            alarms.in(retries.slow().toNanos(), this::attempt);
        }

        private void end(CallException why) {
            open.remove(this);
            ending.failed(why);
        }
    }

    /** Attempt of a send; notified by any thread. */
    private final class Attempt implements ControlOutcome {
        private final Send send;

        Attempt(Send send) {
            this.send = send;
        }

        @Override
        public void acknowledged() {
            gate.run(send::acknowledged);
        }

        @Override
        public void failed(ErrorCode code, String text) {
            gate.run(() -> send.failed(this, code, text));
        }
    }
}
