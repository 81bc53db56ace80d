package io.waybill.api.intercept;

import io.waybill.api.CallException;
import java.time.Duration;
import org.osgi.annotation.versioning.ProviderType;

/** Failed attempt of a call whose request was {@linkplain OutgoingCall#keep kept}, before the program is notified. */
@ProviderType
public interface FailedAttempt extends InterceptedCall {

    /** Max number of attempts of a call. */
    int MAX_ATTEMPTS = 1_000;

    /** Returns the failure, with the message id of this attempt if it was sent. */
    CallException failure();

    /** Returns the number of this attempt, starting at 1. */
    int number();

    /**
     * Repeats the request as it was sent, with a message id of its own, after the delay. The call then does not fail
     * with this failure. For a repetition, interceptors are called only through
     * {@link CallInterceptor#onAttemptFailed}.
     *
     * @param delay less than a millisecond counts as one
     * @return false if the call fails with this failure, because the delay ends after its deadline, or this was the
     *     last of {@value #MAX_ATTEMPTS} attempts
     */
    boolean repeat(Duration delay);
}
