package io.waybill.exchange;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerTable;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.wire.RecordView;

/**
 * Registries in which the handlers of requests are found.
 *
 * @param registry handlers of bundles and of the program
 * @param own handlers of the worker itself: for references, and for control messages
 * @param unknown fails a message inside another one for which there never was a handler
 */
public record HandlerLookup(HandlerRegistry registry, HandlerRegistry own, Unknown unknown) {

    /** Factory of the failure of a request for which there never was a handler. */
    @FunctionalInterface
    public interface Unknown {
        Failure failure(RecordView request, HandlerTable table);
    }

    /** Returns a lookup in the handlers of a worker. */
    public static HandlerLookup of(HandlerRegistry registry, HandlerRegistry own, int workerId) {
        return new HandlerLookup(
                registry, own, (request, table) -> Failure.unknown(workerId, Route.key(table, request), table));
    }

    /** Returns the table that has the request's handler, if there is one. */
    public HandlerTable tableFor(RecordView request) {
        int code = request.typeCode();
        HandlerTable ofOwn = own.table();
        boolean isOwn = Route.isOfReferences(code) || code == Route.CONTROL_CALL && Route.find(ofOwn, request) != null;
        return isOwn ? ofOwn : registry.table();
    }
}
