package io.waybill.system;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/** Calls without end, so many in flight at a time, each written down with its outcome. A thread of its own. */
final class Traffic {

    private static final long PAUSE_AFTER_REFUSAL_NS = 1_000_000;

    private final Worker worker;
    private final CallLog log;
    private final List<String> targets;
    private final Semaphore window;
    private final Duration timeout;
    private final int payloadBytes;
    private final long pauseNs;
    private final MessageType type;
    private final Thread thread = new Thread(this::run, "traffic");
    private volatile boolean stopped;

    /** @param words go, targets, calls in flight, timeout in ms, payload in bytes, pause between calls in us, type when not echo */
    Traffic(Worker worker, CallLog log, List<String> targets, String[] words) {
        this.worker = worker;
        this.log = log;
        this.targets = targets;
        this.window = new Semaphore(Integer.parseInt(words[2]));
        this.timeout = Duration.ofMillis(Long.parseLong(words[3]));
        this.payloadBytes = Integer.parseInt(words[4]);
        this.pauseNs = Long.parseLong(words[5]) * 1000;
        this.type = MessageType.of(Integer.decode(words.length > 6 ? words[6] : WorkerMain.ECHO));
        this.thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void stop() {
        stopped = true;
        window.release(1);
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        for (long n = 0; !stopped; n++) {
            window.acquireUninterruptibly();
            byte[] payload = payload(n);
            Request request = Request.raw(
                            targets.get((int) (n % targets.size())), type, ByteBuffer.wrap(payload), List.of())
                    .timeout(timeout);
            try {
                log.sent(worker.call(request, new Outcome(payload)));
                LockSupport.parkNanos(pauseNs);
            } catch (CallException e) {
                window.release();
                log.refused(WorkerMain.codeOf(e));
                LockSupport.parkNanos(PAUSE_AFTER_REFUSAL_NS);
            } catch (RuntimeException | Error e) {
                WorkerMain.say("broken " + e);
                throw e;
            }
        }
    }

    private byte[] payload(long n) {
        byte[] payload = new byte[payloadBytes];
        for (int i = 0; i < payloadBytes; i++) {
            payload[i] = (byte) (n * 31 + i);
        }
        return payload;
    }

    private final class Outcome implements ResponseListener {
        private final ByteBuffer expected;

        Outcome(byte[] payload) {
            expected = ByteBuffer.wrap(payload);
        }

        @Override
        public void onResponse(Response response) {
            log.outcome(response.id(), startsAsExpected(response.payload()) ? Outcomes.OK : "WRONG");
            window.release();
        }

        private boolean startsAsExpected(ByteBuffer payload) {
            return payload.remaining() >= expected.remaining()
                    && payload.slice().limit(expected.remaining()).equals(expected);
        }

        @Override
        public void onFailure(CallException failure) {
            log.outcome(failure.messageId(), WorkerMain.codeOf(failure));
            window.release();
        }
    }
}
