package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.handling.CallHooks;
import io.waybill.handling.HeldResponse;
import io.waybill.handling.UnwrappedResponse;
import java.time.Duration;
import java.util.Optional;

/**
 * A handler's call in a replay, with the matching recorded call and the interceptors. Its outcome is read once.
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
     * Returns the recorded response, after its interceptors; the caller owns it.
     *
     * @throws CallException the recorded error, or one of an interceptor
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
     * Returns the next recorded attempt of a call that its interceptors repeat. Only the record shows how much time the
     * call had.
     *
     * @throws CallException the failure, if it is that of the call
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

    /** Returns the error of the outcome; empty for a response, and if no outcome is recorded. */
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
