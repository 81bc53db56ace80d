package io.waybill.crash;

import io.waybill.api.Value;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.locks.LockSupport;

/**
 * A store on disk that a process of a run changes all the time. Each round sets all its keys, one after the other, so the next incarnation sees
 * whether it found a state that was there at one moment, and none that is older than what an incarnation before it had found.
 *
 * <p><b>Threads.</b> It has one of its own, until it is stopped.
 */
final class KeptRounds {

    private static final int KEYS = 50;
    private static final long ROUND_NS = 1_000_000;

    private final StateStore store;
    private final Thread thread = new Thread(this::run, "kept-rounds");
    private long round;
    private volatile boolean stopped;

    private KeptRounds(StateStore store) {
        this.store = store;
        this.thread.setDaemon(true);
    }

    /**
     * Looks at what the last incarnation left, and goes on from there.
     *
     * @param logs where it remembers what was found
     * @throws IllegalStateException when that was never there, or is older than it was
     */
    static KeptRounds start(Worker worker, Path logs) throws IOException {
        KeptRounds rounds = new KeptRounds(worker.broker().state("rounds", StatePolicy.KEEP.onDisk()));
        rounds.look(logs.resolve(worker.info().name() + ".found"));
        rounds.thread.start();
        return rounds;
    }

    private void look(Path remembered) throws IOException {
        long first = of(0);
        for (int key = 1; key < KEYS; key++) {
            if (of(key) > of(key - 1) || of(key) < first - 1) {
                throw new IllegalStateException("the store has round " + of(key) + " of key " + key + ", round "
                        + of(key - 1) + " of the key before, and round " + first + " of the first one");
            }
        }
        long before = Files.exists(remembered) ? Long.parseLong(Files.readString(remembered)) : 0;
        if (first < before) {
            throw new IllegalStateException("the store has round " + first + ", and had round " + before);
        }
        Path next = remembered.resolveSibling(remembered.getFileName() + ".new"); // it may be killed meanwhile
        Files.writeString(next, Long.toString(first));
        Files.move(next, remembered, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        round = first;
    }

    private long of(int key) {
        return ((Value.Int) store.get("key" + key).orElse(Value.of(0))).value();
    }

    private void run() {
        while (!stopped) {
            Value next = Value.of(++round);
            for (int key = 0; key < KEYS; key++) {
                store.put("key" + key, next);
            }
            LockSupport.parkNanos(ROUND_NS);
        }
    }

    /** Ends the thread. */
    void stop() {
        stopped = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
