package io.waybill.worker.serve;

import io.waybill.api.MessageId;
import io.waybill.api.handler.RequestArrival;
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
 * Clock and random numbers of a handler; records the inputs that a replay must reproduce. Not pooled: a bundle may keep
 * it, but it throws after the response.
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
    private RequestArrival arrival; // null until it was asked for

    Observer(Clock clock, long id) {
        this.clock = clock;
        this.id = id;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException after the response
     */
    @Override
    public synchronized Instant instant() {
        requireOpen();
        long wallNs = clock.wallNs();
        note(Kind.TIME, wallNs);
        return Instant.ofEpochSecond(Math.floorDiv(wallNs, SECOND_NS), Math.floorMod(wallNs, SECOND_NS));
    }

    /**
     * Returns the generator of the request. Its seed is computed from the time and the id, so that the broker is
     * deterministic under a simulated clock.
     *
     * @throws IllegalStateException after the response
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

    /** Returns the time until a deadline. A reading after the response is not recorded. */
    synchronized long leftNs(long deadlineNs) {
        long leftNs = deadlineNs - clock.bootNs();
        if (!ended) {
            note(Kind.LEFT, leftNs);
        }
        return leftNs;
    }

    /**
     * Returns when the request arrived.
     *
     * @throws IllegalStateException after the response
     */
    synchronized RequestArrival arrival(PeerRequest request) {
        requireOpen();
        if (arrival == null) {
            arrival = request.times().arrival(request.view(), clock);
            note(Kind.ARRIVAL, arrival.readNs());
            note(Kind.ARRIVAL, arrival.unparkedNs());
            note(Kind.ARRIVAL, arrival.confirmedNs());
            note(Kind.ARRIVAL, arrival.begunNs());
            note(Kind.ARRIVAL, arrival.convertedNs());
        }
        return arrival;
    }

    private void requireOpen() {
        if (ended) {
            throw new IllegalStateException("message " + MessageId.text(id)
                    + " has its response: what its handler sees from now on can't be put on record any more");
        }
    }

    private void note(Kind kind, long value) {
        if (seen.size() < Observations.MAX) {
            seen.add(new Observation(kind, value));
        } else {
            cut = true;
        }
    }

    /** Ends the recording before the response, and returns the observations in record format. */
    synchronized byte[] end() {
        ended = true;
        return seen.isEmpty() ? Observations.NO_BYTES : new Observations(seen, cut).encode();
    }
}
