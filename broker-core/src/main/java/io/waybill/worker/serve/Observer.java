package io.waybill.worker.serve;

import io.waybill.api.MessageId;
import io.waybill.host.Clock;
import io.waybill.wire.Observation;
import io.waybill.wire.Observation.Kind;
import io.waybill.wire.Observations;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * Shows a handler the time, and gives it random numbers, and notes what another run of the request must be told alike. Not pooled: a
 * bundle may keep it, but is told nothing more once the request is answered.
 *
 * <p><b>Threads.</b> Any.
 */
final class Observer implements InstantSource {

    private static final long SECOND_NS = 1_000_000_000;

    private final Clock clock;
    private final long id;
    // all guarded by this
    private final List<Observation> seen = new ArrayList<>();
    private boolean cut;
    private boolean ended;
    private Random random;

    Observer(Clock clock, long id) {
        this.clock = clock;
        this.id = id;
    }

    /** @throws IllegalStateException when the request was answered */
    @Override
    public synchronized Instant instant() {
        requireOpen();
        long wallNs = clock.wallNs();
        note(Kind.TIME, wallNs);
        return Instant.ofEpochSecond(Math.floorDiv(wallNs, SECOND_NS), Math.floorMod(wallNs, SECOND_NS));
    }

    /**
     * One generator for the request. Its seed is drawn from the time and the id, so that the broker runs alike under a simulated clock.
     *
     * @throws IllegalStateException when the request was answered
     */
    synchronized RandomGenerator random() {
        requireOpen();
        if (random == null) {
            long seed = new SplittableRandom(clock.wallNs() ^ Long.reverse(id)).nextLong();
            note(Kind.SEED, seed);
            random = new Random(seed);
        }
        return random;
    }

    /** What is left until a deadline. A look after the response is not put on record: the look was too late. */
    synchronized long leftNs(long deadlineNs) {
        long leftNs = deadlineNs - clock.bootNs();
        if (!ended) {
            note(Kind.LEFT, leftNs);
        }
        return leftNs;
    }

    private void requireOpen() {
        if (ended) {
            throw new IllegalStateException("message " + MessageId.text(id)
                    + " is answered: what its handler sees from now on can't be put on record any more");
        }
    }

    private void note(Kind kind, long value) {
        if (seen.size() < Observations.MAX) {
            seen.add(new Observation(kind, value));
        } else {
            cut = true;
        }
    }

    /** The request is about to be answered: all that was seen, as it goes on record. */
    synchronized byte[] end() {
        ended = true;
        return new Observations(seen, cut).encode();
    }
}
