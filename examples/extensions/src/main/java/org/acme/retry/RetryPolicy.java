package org.acme.retry;

import io.waybill.api.ErrorCode;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import org.osgi.service.component.annotations.Component;

/**
 * Repeats calls that failed before a handler ran, within their deadlines: after 10 ms, 20 ms, and so on up to a second.
 * The keys of {@code InterceptsMessage} would limit it to some operations.
 */
@Component
@InterceptsMessage
public final class RetryPolicy implements CallInterceptor {

    /** Error codes of a busy, restarting or full receiver, whose handler has not run. */
    private static final Set<ErrorCode> RETRYABLE = EnumSet.of(
            ErrorCode.BACK_PRESSURE, ErrorCode.HANDLER_GONE, ErrorCode.UNKNOWN_WORKER, ErrorCode.DEVICE_FULL);

    private static final long FIRST_DELAY_MS = 10;
    private static final int MAX_DOUBLINGS = 7;
    private static final long MAX_DELAY_MS = 1_000;

    @Override
    public void onRequest(OutgoingCall call) {
        call.keep();
    }

    @Override
    public void onAttemptFailed(FailedAttempt attempt) {
        if (RETRYABLE.contains(attempt.failure().code())) {
            int doublings = Math.min(attempt.number() - 1, MAX_DOUBLINGS);
            attempt.repeat(Duration.ofMillis(Math.min(FIRST_DELAY_MS << doublings, MAX_DELAY_MS)));
        }
    }
}
