package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.handling.CallHooks;
import io.waybill.handling.HeldResponse;
import io.waybill.handling.UnwrappedResponse;
import java.time.Duration;
import java.util.Optional;

/**
 * A call that a handler makes in a replay: the one on record that it is, and its interceptors. Its outcome is asked for once.
 *
 * @param hooks null without interceptors
 */
record ReplayedNestedCall(ReplayServices services, NestedCall recorded, CallHooks hooks) {

    /** Returns whether an outcome is on record. */
    boolean hasOutcome() {
        return recorded.response().isPresent();
    }

    long id() {
        return recorded.call().id();
    }

    /**
     * Returns the response on record, after its interceptors; the caller's.
     *
     * @throws CallException the error on record, or of an interceptor
     */
    Response response() {
        HeldResponse arrived = null;
        NestedCall attempt = recorded;
        while (arrived == null) {
            try {
                arrived = services.response(attempt);
            } catch (CallException e) {
                attempt = next(e);
            }
        }
        return hooks == null ? arrived : unwrapped(arrived);
    }

    /**
     * Returns the next attempt on record of a call that its interceptors repeat. How long the call had, the record alone knows.
     *
     * @throws CallException the failure, when it is that of the call
     */
    private NestedCall next(CallException failure) {
        NestedCall next = null;
        if (hooks != null && hooks.isKept() && hooks.attemptFailed(failure, Long.MAX_VALUE) >= 0) {
            next = services.attempt(hooks.repeated(Duration.ZERO), hooks.sentContext());
        }
        if (next == null && hooks != null) {
            hooks.failed(failure);
            hooks.releaseKept();
        }
        if (next == null) {
            throw failure;
        }
        return next;
    }

    private Response unwrapped(HeldResponse arrived) {
        UnwrappedResponse response = new UnwrappedResponse(arrived);
        CallException failure = hooks.respond(response);
        hooks.releaseKept();
        if (failure == null) {
            return response;
        }
        response.close();
        hooks.failed(failure);
        throw failure;
    }

    /** Returns the error that is the outcome; empty for a response, and when there is no outcome on record. */
    Optional<CallException> failure() {
        if (hooks == null || !hasOutcome()) {
            return recorded.response().filter(RecordContent::isError).map(RecordContent::failure);
        }
        try {
            response().close();
            return Optional.empty();
        } catch (CallException e) {
            return Optional.of(e);
        }
    }
}
