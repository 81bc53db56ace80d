package io.waybill.replay.run;

import io.waybill.api.Message;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.RequestArrival;
import io.waybill.exchange.HandlerServices;
import io.waybill.wire.Observation;
import io.waybill.wire.Observation.Kind;
import io.waybill.wire.Observations;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Returns the recorded observations of a handler, in the same order. The first different or additional observation is
 * reported, except an additional reading of the remaining time. The handler continues: from there on the clock stands
 * still, and random numbers use the seed 0.
 *
 * <p><b>Threads.</b> Any.
 */
final class RecordedObservations implements InstantSource {

    private static final long SECOND_NS = 1_000_000_000;
    private static final int TIMES = 5;

    private final Observations recorded;
    private final List<Observation> seen; // in order, without the arrival, which never changes
    private final List<Observation> arrival;
    private final Consumer<String> departed;
    // all guarded by this
    private int next;
    private long timeNs;
    private long leftNs;
    private boolean hasLeft; // whether a remaining time was returned
    private Random random;
    private boolean hasDeparted;

    /**
     * Creates the observations of a run.
     *
     * @param departed callback with the location of the first unrecorded observation
     */
    RecordedObservations(Observations recorded, Consumer<String> departed) {
        this.recorded = recorded;
        this.seen = recorded.seen().stream()
                .filter(each -> each.kind() != Kind.ARRIVAL)
                .toList();
        this.arrival = recorded.seen().stream()
                .filter(each -> each.kind() == Kind.ARRIVAL)
                .toList();
        this.departed = departed;
    }

    @Override
    public synchronized Instant instant() {
        if (isNext(Kind.TIME)) {
            timeNs = seen.get(next++).value();
        }
        return Instant.ofEpochSecond(Math.floorDiv(timeNs, SECOND_NS), Math.floorMod(timeNs, SECOND_NS));
    }

    /** Returns the single generator of the run. */
    synchronized RandomGenerator random() {
        if (random == null) {
            random = new Random(isNext(Kind.SEED) ? seen.get(next++).value() : 0);
        }
        return random;
    }

    /** Returns the recorded time until the deadline; if no further one is recorded, the last one. */
    synchronized long leftNs() {
        boolean isKnown = next < seen.size() && seen.get(next).kind() == Kind.LEFT;
        if ((isKnown || !hasLeft) && isNext(Kind.LEFT)) {
            leftNs = seen.get(next++).value();
            hasLeft = true;
        }
        return leftNs;
    }

    /**
     * Returns the recorded arrival of the request.
     *
     * @param sentNs time in its record
     */
    synchronized RequestArrival arrival(long sentNs) {
        if (arrival.size() == TIMES) {
            long[] ns = arrival.stream().mapToLong(Observation::value).toArray();
            return new RequestArrival(sentNs, ns[0], ns[1], ns[2], ns[3], ns[4]);
        }
        if (!hasDeparted) {
            depart(Kind.ARRIVAL, "and they are not on record");
        }
        return new RequestArrival(sentNs, sentNs, sentNs, sentNs, sentNs, sentNs);
    }

    /** Returns whether this is the handler's next recorded observation; always false after the first difference. */
    private boolean isNext(Kind wanted) {
        if (hasDeparted) {
            return false;
        }
        boolean known = next < seen.size();
        if (known && seen.get(next).kind() == wanted) {
            return true;
        }
        depart(wanted, known ? "where " + found(seen.get(next)) : "and " + all());
        return false;
    }

    private void depart(Kind wanted, String found) {
        hasDeparted = true;
        departed.accept("its handler asked for " + text(wanted) + " at " + caller() + ", " + found);
    }

    private String found(Observation seen) {
        return "observation " + (next + 1) + " on record is " + text(seen.kind());
    }

    private String all() {
        return recorded.isCut()
                ? "of all that it observed only the first " + next + " had room in the record"
                : "the record has " + next + " observations, all of which it had seen";
    }

    private static String text(Kind kind) {
        return switch (kind) {
            case TIME -> "the time";
            case SEED -> "random numbers";
            case LEFT -> "the time that was left";
            case ARRIVAL -> "the times of its arrival";
        };
    }

    /** Returns the code location of an observation through the outbox, or through one of Java's clocks. */
    private static String caller() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> frames.filter(frame -> isHandlers(frame.getDeclaringClass()))
                        .findFirst()
                        .map(frame -> frame.toStackTraceElement().toString())
                        .orElse("an unknown place"));
    }

    private static boolean isHandlers(Class<?> type) {
        return type != RecordedObservations.class
                && !Outbox.class.isAssignableFrom(type)
                && !HandlerServices.class.isAssignableFrom(type)
                && !Message.class.isAssignableFrom(type)
                && !type.getPackageName().startsWith("java.");
    }
}
