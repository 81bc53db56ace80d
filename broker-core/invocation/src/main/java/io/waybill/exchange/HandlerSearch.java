package io.waybill.exchange;

import io.waybill.api.ErrorCode;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Threads;
import io.waybill.wire.RecordView;

/**
 * Finds the handler of a request, and counts the request in there and at its interceptors. Used for a request of a peer
 * and for a message inside another one: only this class decides which request is refused, and which waits for a
 * handler, a thread or an interceptor.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HandlerSearch {

    /** Result of a search. */
    public enum Found {
        /** The handler has counted the request, and is the {@linkplain Exchange#entry entry} of its exchange. */
        COUNTED,
        /** There is no handler, thread or interceptor for it now. Nothing is counted. */
        WAITS,
        /** The request has ended with an error. */
        REFUSED
    }

    /** Request without a handler yet: the properties that depend on its origin. */
    public interface Seeker {

        Exchange exchange();

        /** Returns why this handler must not run the request, although it is in service; null when it may. */
        default Failure refusal(HandlerEntry by) {
            return null;
        }

        /** Returns whether there is a thread for it to run on. */
        boolean hasThread(HandlerEntry by);

        /**
         * Returns the handler of the request that has sent this one; null for none. Called while several versions of a
         * bundle serve.
         */
        HandlerEntry outer();

        /** Ends the request, which no handler got. */
        void refuse(Failure why);
    }

    private final HandlerLookup lookup;
    private final int workerId;
    private final Threads threads;

    public HandlerSearch(HandlerLookup lookup, ExchangeContext context) {
        this.lookup = lookup;
        this.workerId = context.workerId();
        this.threads = context.threads();
    }

    /** Finds the handler of a request. */
    public Found find(Seeker seeker) {
        Exchange exchange = seeker.exchange();
        RecordView view = exchange.source().view();
        boolean mayLeave = true; // may get a leaving handler
        while (true) {
            HandlerTable table = lookup.tableFor(view);
            HandlerEntry next = version(seeker, Route.find(table, view));
            boolean hasLeft = next == null && Route.absence(table, view) == Absence.LEFT;
            HandlerEntry leaving = mayLeave && table.isDraining() ? leaving(seeker, table, next) : null;
            HandlerEntry chosen = leaving != null ? leaving : next;
            Failure why = chosen == null && hasLeft ? null : refusal(seeker, chosen, table);
            if (why != null) {
                seeker.refuse(why);
                return Found.REFUSED;
            }
            if (chosen == null || !seeker.hasThread(chosen) || !exchange.openInterception()) {
                return Found.WAITS;
            }
            if (leaving != null ? chosen.beginLeaving() : chosen.begin()) {
                exchange.counted(chosen);
                return Found.COUNTED;
            }
            exchange.endInterception();
            mayLeave = leaving == null; // it has left: the request gets the next one, or waits for it
            threads.spin(); // withdrawn between lookup and begin: the new table follows
        }
    }

    private static HandlerEntry version(Seeker seeker, HandlerEntry found) {
        if (found == null || !found.hasCanary()) {
            return found;
        }
        RequestSource source = seeker.exchange().source();
        return found.version(source.view().id(), source.senderName(), seeker.outer());
    }

    /**
     * Returns the leaving handler that gets the request in place of the next version of its bundle, because one that
     * left together with it has sent the request; null for none.
     */
    private HandlerEntry leaving(Seeker seeker, HandlerTable table, HandlerEntry next) {
        HandlerEntry outer = seeker.outer();
        if (outer == null || !outer.isWithdrawn()) {
            return null;
        }
        HandlerKey key = Route.key(table, seeker.exchange().source().view());
        HandlerEntry leaving = lookup.registry().leaving(key, outer);
        boolean isReplaced = leaving == null
                || next == null
                || leaving.provider().name().equals(next.provider().name());
        return isReplaced ? leaving : null;
    }

    /** Returns why the request gets no handler, or not this one; null when it does. */
    private Failure refusal(Seeker seeker, HandlerEntry entry, HandlerTable table) {
        RecordView view = seeker.exchange().source().view();
        if (entry != null) {
            Failure why = seeker.refusal(entry);
            return why == null && entry.isOutOfService() ? Failure.outOfService(workerId, entry) : why;
        }
        if (!Route.isNamed(view)) {
            String text =
                    "the payload of a " + view.type() + " begins with the operation's name, and this one does not";
            return Failure.of(ErrorCode.MALFORMED_BODY, workerId, text);
        }
        return lookup.unknown().failure(view, table);
    }
}
