package io.waybill.system;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.worker.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Creates, owns, passes on, fetches and closes references at random, all following from a seed, among workers that may die and come back
 * meanwhile. Each reference brings the value along that it must have.
 *
 * <p><b>Threads.</b> Two walk; the handlers' put in what others pass on. A reference that one thread uses no other sees.
 */
final class ReferenceWalk {

    /** What a worker is asked to take a reference, and the value that it has. */
    static final String TAKE = "test::take";

    private static final int THREADS = 2;
    private static final int MOST_HELD = 30;
    private static final Duration LONG = Duration.ofSeconds(40);
    private static final long JOIN_MS = 60_000;
    /** What the death of another worker may do to an operation. */
    private static final Set<ErrorCode> OF_DEATHS =
            EnumSet.of(ErrorCode.WORKER_LOST, ErrorCode.OWNER_LOST, ErrorCode.REFERENCE_DELETED);

    /** A reference, its value, and whether its owner had confirmed it when the value was fetched. */
    private record Held(RRef reference, long value, boolean certain) {}

    private final Worker worker;
    private final List<Held> held = new ArrayList<>(); // guarded by itself
    private final Map<ErrorCode, Integer> errors = new EnumMap<>(ErrorCode.class); // guarded by held
    private final ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean ended; // written by the one who obeys, read by those who walk
    private int operations; // guarded by held
    private int fetched; // guarded by held

    ReferenceWalk(Worker worker) {
        this.worker = worker;
    }

    /**
     * {@code walk start SEED KEPT PEER,PEER,…} begins, where KEPT says whether values outlive their owners; {@code walk stop} ends, and tells
     * what went wrong; {@code walk release} closes every reference.
     */
    String obey(String[] words) {
        switch (words[1]) {
            case "start":
                start(Long.parseLong(words[2]), Boolean.parseBoolean(words[3]), List.of(words[4].split(",")));
                return "started";
            case "stop":
                return stop();
            default:
                return release();
        }
    }

    private void start(long seed, boolean kept, List<String> peers) {
        Random seeds = new Random(seed);
        for (int i = 0; i < THREADS; i++) {
            Random random = new Random(seeds.nextLong());
            Thread thread = new Thread(() -> walk(random, kept, peers), "walk-" + i);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    private String stop() {
        ended = true;
        for (Thread thread : threads) {
            try {
                thread.join(JOIN_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            if (thread.isAlive()) {
                wrong.add("hangs: " + String.join(" < ", stack(thread)));
            }
        }
        synchronized (held) {
            return "operations=" + operations + " fetched=" + fetched + " errors=" + errors + " wrong="
                    + String.join(";", wrong);
        }
    }

    private static List<String> stack(Thread thread) {
        List<String> frames = new ArrayList<>();
        for (StackTraceElement frame : thread.getStackTrace()) {
            frames.add(frame.toString());
        }
        return frames;
    }

    private String release() {
        List<Held> all;
        synchronized (held) {
            all = List.copyOf(held);
            held.clear();
        }
        all.forEach(one -> one.reference().close());
        return "released";
    }

    /** Another worker passed a reference on. */
    void take(RRef reference, long value) {
        put(new Held(reference, value, false));
    }

    private void put(Held one) {
        synchronized (held) {
            held.add(one);
        }
    }

    /** Null when there is none. */
    private Held any(Random random) {
        synchronized (held) {
            return held.isEmpty() ? null : held.remove(random.nextInt(held.size()));
        }
    }

    private void walk(Random random, boolean kept, List<String> peers) {
        while (!ended) {
            try {
                step(random, kept, peers.get(random.nextInt(peers.size())));
            } catch (CallException e) {
                count(e);
            } catch (RuntimeException e) {
                wrong.add(e.toString());
            }
            synchronized (held) {
                operations++;
            }
        }
    }

    private void count(CallException e) {
        if (!OF_DEATHS.contains(e.code())) {
            wrong.add(e.code() + ": " + e.getMessage());
        }
        synchronized (held) {
            errors.merge(e.code(), 1, Integer::sum);
        }
    }

    private int size() {
        synchronized (held) {
            return held.size();
        }
    }

    private void step(Random random, boolean kept, String peer) {
        int choice = random.nextInt(100);
        Held one = choice < 30 && size() < MOST_HELD ? null : any(random);
        if (one == null) {
            put(random.nextInt(4) == 0 ? own(random) : create(random, peer));
        } else if (choice < 55) {
            pass(one, peer);
        } else if (choice < 80) {
            fetch(one, kept);
        } else {
            one.reference().close();
        }
    }

    private Held own(Random random) {
        long value = random.nextInt();
        return new Held(worker.rpc().rref(Value.of(value)), value, true);
    }

    private Held create(Random random, String peer) {
        int left = random.nextInt();
        int right = random.nextInt();
        Invocation add = new Invocation("test::add", List.of(Value.of(left), Value.of(right)), Map.of());
        return new Held(worker.rpc().remote(peer, add, LONG), (long) left + right, false);
    }

    private void pass(Held one, String peer) {
        Invocation take = new Invocation(TAKE, List.of(Value.of(one.reference()), Value.of(one.value())), Map.of());
        try {
            worker.rpc().rpcSync(peer, take, LONG).close();
            put(one);
        } catch (CallException e) {
            if (e.code() == ErrorCode.WORKER_LOST) { // of the peer, more often than not
                put(one);
            } else {
                one.reference().close();
            }
            throw e;
        }
    }

    private void fetch(Held one, boolean kept) {
        boolean confirmed = one.certain() || one.reference().confirmedByOwner();
        try (Response value = one.reference().toHere(LONG)) {
            long found = ((Value.Int) value.value()).value();
            if (found != one.value()) {
                wrong.add(one.reference() + " has " + found + " and not " + one.value());
            }
            put(new Held(one.reference(), one.value(), confirmed));
            synchronized (held) {
                fetched++;
            }
        } catch (CallException e) {
            if (e.code() == ErrorCode.WORKER_LOST) { // its owner may come back, unless its creation failed
                put(one);
            } else {
                if (kept && one.certain() || e.code() == ErrorCode.REFERENCE_DELETED && one.certain()) {
                    wrong.add(one.reference() + " was there before, and now: " + e.code() + ": " + e.getMessage());
                }
                one.reference().close();
            }
            throw e;
        }
    }
}
