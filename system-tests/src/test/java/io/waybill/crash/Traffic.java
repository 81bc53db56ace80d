package io.waybill.crash;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.crash.history.Event;
import io.waybill.crash.history.Event.Kind;
import io.waybill.crash.history.EventLog;
import io.waybill.host.Clock;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls at a steady rate, each written down when it is acknowledged and when its outcome was seen. One call in sixteen ends after 300 ms,
 * one in 64 has a slow
 * handler, one in 256 one that is slower than its timeout, and as many bring a tensor, one in sixteen a handler that runs at least once. A thread of its own.
 */
final class Traffic implements ResponseListener {

    private static final int WINDOW = 4096;
    private static final int LONG_MS = 60_000;
    private static final int SHORT_MS = 300;
    private static final int TOO_SHORT_MS = 20;
    private static final long REFUSED_PAUSE_NS = 1_000_000;
    private static final long MOST_BEHIND_NS = 20_000_000;

    private final Worker worker;
    private final Clock clock;
    private final EventLog log;
    private final List<String> servers;
    private final long intervalNs;
    private final Semaphore window = new Semaphore(WINDOW);
    private final AtomicLong responded = new AtomicLong();
    private final Thread thread = new Thread(this::run, "traffic");
    private volatile boolean stopped;

    /** @param rate calls per second */
    Traffic(Worker worker, Clock clock, EventLog log, List<String> servers, int rate) {
        this.worker = worker;
        this.clock = clock;
        this.log = log;
        this.servers = servers;
        this.intervalNs = TimeUnit.SECONDS.toNanos(1) / rate;
        this.thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void stop() throws InterruptedException {
        stopped = true;
        thread.join();
    }

    /** Calls that were responded to. */
    long responded() {
        return responded.get();
    }

    private void run() {
        try {
            long dueNs = clock.monotonicNs();
            for (long number = 0; !stopped; number++) {
                dueNs = awaitTurn(dueNs) + intervalNs;
                if (!acquire()) {
                    return;
                }
                call(number);
            }
        } catch (InterruptedException | RuntimeException | Error e) {
            CrashProcess.say("broken " + e);
            throw new IllegalStateException(e);
        }
    }

    private long awaitTurn(long dueNs) {
        long nowNs = clock.monotonicNs();
        while (nowNs < dueNs && !stopped) {
            LockSupport.parkNanos(dueNs - nowNs);
            nowNs = clock.monotonicNs();
        }
        return Math.max(dueNs, nowNs - MOST_BEHIND_NS);
    }

    private boolean acquire() throws InterruptedException {
        while (!window.tryAcquire(100, TimeUnit.MILLISECONDS)) {
            if (stopped) {
                return false;
            }
        }
        return true;
    }

    private void call(long number) {
        MessageType type = typeOf(number);
        int timeoutMs = timeoutMsOf(number);
        byte[] payload = Payloads.request(worker.directory().epoch(), number);
        Storage storage = null;
        try {
            storage = type.equals(ServedTypes.TENSOR) ? storage(payload) : null;
            Request request = Request.raw(serverOf(number), type, ByteBuffer.wrap(payload), tensors(storage))
                    .timeout(Duration.ofMillis(timeoutMs));
            long id = worker.call(request, this);
            log.add(new Event(Kind.SENT, timeoutMs, Payloads.digest(payload), id, clock.bootNs(), number));
        } catch (CallException e) {
            log.add(new Event(Kind.REFUSED, e.code().number(), 0, 0, clock.bootNs(), number));
            window.release();
            LockSupport.parkNanos(REFUSED_PAUSE_NS);
        } finally {
            if (storage != null) {
                storage.release();
            }
        }
    }

    private Storage storage(byte[] payload) {
        Storage storage = worker.buffers().allocate(Payloads.TENSOR_BYTES);
        ByteBuffer bytes = storage.bytes(0, Payloads.TENSOR_BYTES);
        for (int i = 0; i < Payloads.TENSOR_BYTES; i++) {
            bytes.put(i, Payloads.tensor(ByteBuffer.wrap(payload), i));
        }
        return storage;
    }

    private static List<Tensor> tensors(Storage storage) {
        return storage == null
                ? List.of()
                : List.of(Tensor.contiguous(DType.UINT8, new long[] {Payloads.TENSOR_BYTES}, storage));
    }

    /** Each in turn, for each type. */
    private String serverOf(long number) {
        return servers.get((int) ((number + number / 256) % servers.size()));
    }

    private static MessageType typeOf(long number) {
        if (number % 256 == 17) {
            return ServedTypes.TENSOR;
        }
        if (number % 256 == 1 || number % 64 == 33) {
            return ServedTypes.SLOW;
        }
        if (number % 64 == 3) {
            return ServedTypes.SERIAL;
        }
        return number % 16 == 5 ? ServedTypes.AGAIN : ServedTypes.INLINE;
    }

    private static int timeoutMsOf(long number) {
        if (number % 256 == 1) {
            return TOO_SHORT_MS;
        }
        return number % 16 == 2 ? SHORT_MS : LONG_MS;
    }

    @Override
    public void onResponse(Response response) {
        log.add(new Event(Kind.OK, 0, Payloads.digest(response.payload()), response.id(), clock.bootNs(), 0));
        responded.incrementAndGet();
        window.release();
    }

    @Override
    public void onFailure(CallException failure) {
        int code = failure.code().number();
        log.add(new Event(Kind.FAILED, code, 0, failure.messageId(), clock.bootNs(), 0));
        window.release();
    }
}
