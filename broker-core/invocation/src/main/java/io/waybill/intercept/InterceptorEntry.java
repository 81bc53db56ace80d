package io.waybill.intercept;

import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.InFlightCount;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Interceptor with the count of the calls that it has begun.
 *
 * <p>Every {@link #begin} that returned true is followed by one {@link #end}. In between the interceptor is not
 * removed, unless the drain limit passes: then {@link #interceptor} is null.
 *
 * <p><b>Threads.</b> Any.
 *
 * @param <T> the kind of interceptor
 */
public final class InterceptorEntry<T> {

    private static final Logger LOG = LoggerFactory.getLogger(InterceptorEntry.class);
    /** Max failures of an interceptor that are logged with their stack; further ones are counted. */
    private static final int MAX_LOGGED = 20;

    private final List<HandlerKey> keys;
    private final Set<HandlerKey> keySet;
    private final Set<HandlerKey> ignored;
    private final Provider provider;
    private final int ranking;
    private final String name;
    private final boolean parks;
    private final boolean seesOutcomes;
    private final boolean isAlwaysIntercepting;
    private final String asked; // name of a method
    private final Predicate<T> intercepting;
    private final InFlightCount inFlight = new InFlightCount();
    private final AtomicLong failed = new AtomicLong();
    private final ProviderErrors errors;
    // Cleared when its bundle leaves with calls in flight, so that they don't pin its classes.
    private volatile T interceptor;

    InterceptorEntry(InterceptorSpec<T> spec, OptionalMethods<T> methods, ProviderErrors errors) {
        this.errors = errors;
        this.seesOutcomes = methods.seesOutcomes(spec.interceptor());
        this.isAlwaysIntercepting = methods.isAlwaysIntercepting(spec.interceptor());
        this.asked = methods.asked().getName();
        this.intercepting = methods.intercepting();
        this.keys = spec.keys();
        this.keySet = Set.copyOf(keys);
        this.ignored = Set.copyOf(spec.ignored());
        this.provider = spec.provider();
        this.ranking = spec.ranking();
        this.name = spec.name();
        this.parks = spec.whenAway() == AwayPolicy.PARK;
        this.interceptor = spec.interceptor();
    }

    /** Counts a call in; returns false when the interceptor was withdrawn: the caller then reads the new table. */
    boolean begin() {
        return inFlight.begin();
    }

    /**
     * Counts in a call that belongs to a request in flight, although the interceptor is withdrawn; returns false when
     * it has left.
     */
    boolean beginNested() {
        return inFlight.beginLeaving();
    }

    /** Counts out a call that was counted in. */
    void end() {
        inFlight.end();
    }

    /** Returns the interceptor; null when its bundle left before its calls ended. */
    public T interceptor() {
        return interceptor;
    }

    /** Returns whether it has any of the methods that follow the first one. */
    boolean seesOutcomes() {
        return seesOutcomes;
    }

    /** Returns whether it need not be asked. */
    boolean isAlwaysIntercepting() {
        return isAlwaysIntercepting;
    }

    /** Returns whether it takes part in calls now. An interceptor without that method takes part. */
    boolean isIntercepting() {
        T own = interceptor;
        try {
            return own != null && intercepting.test(own);
        } catch (Throwable e) { // the boundary around an interceptor
            threw(asked, "a call", e);
            return true;
        }
    }

    public Provider provider() {
        return provider;
    }

    List<HandlerKey> keys() {
        return keys;
    }

    /** Returns whether the interceptor declares one of these keys, and ignores none. */
    boolean declaresAny(Collection<HandlerKey> wanted) {
        return wanted.stream().anyMatch(keySet::contains) && wanted.stream().noneMatch(ignored::contains);
    }

    int ranking() {
        return ranking;
    }

    /** Returns the name of its provider, without the version: the order of interceptors survives updates. */
    String providerName() {
        return provider.name();
    }

    String name() {
        return name;
    }

    /** Returns whether its messages wait while its provider is replaced. */
    boolean parks() {
        return parks;
    }

    /**
     * Counts and logs an exception of the interceptor. Does not throw.
     *
     * @param method the method that threw
     * @param of the call, with its message id if it has one
     */
    public void threw(String method, String of, Throwable error) {
        errors.charge(provider);
        long count = failed.incrementAndGet();
        if (count > MAX_LOGGED) {
            return;
        }
        String rest = count == MAX_LOGGED ? "; further errors of this interceptor are only counted" : "";
        ForeignErrors.warn(LOG, provider + " threw in " + method + " of its interceptor for " + of + rest, error);
    }

    /** Returns the number of calls begun and not ended. */
    public long inFlight() {
        return inFlight.inFlight();
    }

    InterceptorStatus status() {
        return new InterceptorStatus(
                provider, keys, ranking, inFlight(), inFlight.begun(), failed.get(), isWithdrawn());
    }

    /** Lets no more calls begin, except calls of requests in flight. */
    void withdraw() {
        inFlight.withdraw();
    }

    /** Lets no more calls begin. */
    void leave() {
        inFlight.leave();
    }

    boolean isWithdrawn() {
        return inFlight.isWithdrawn();
    }

    /** Abandons the interceptor: it is called no more. */
    void giveUp() {
        interceptor = null;
    }

    /**
     * Waits until nothing is in flight, or until a moment of the monotonic clock; returns the number of calls still in
     * flight.
     */
    long awaitDrained(Clock clock, Threads threads, long untilNs) {
        return inFlight.awaitDrained(clock, threads, untilNs);
    }
}
