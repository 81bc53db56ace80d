package io.waybill.api.intercept;

import io.waybill.api.CallException;
import java.time.Duration;
import org.osgi.annotation.versioning.ProviderType;

/** A failed attempt of a call whose request was {@linkplain OutgoingCall#keep kept}, before the program is notified. */
@ProviderType
public interface FailedAttempt extends InterceptedCall {

    /** Max number of attempts of a call. */
    int MAX_ATTEMPTS = 1_000;

    /** Returns the failure, with the message id of this attempt if it was sent. */
    CallException failure();

    /** Returns the number of this attempt, from 1 on. */
    int number();

    /**
     * Repeats the request as it was sent, with a message id of its own, once the delay has passed. The failure is then not that of the call.
     * Calls of other interceptors than {@link CallInterceptor#onAttemptFailed} don't take place.
     *
     * @param delay less than a millisecond counts as one
     * @return false when the failure is that of the call, because the delay ends after its deadline, or this was the last of
     *     {@value #MAX_ATTEMPTS} attempts
     */
    boolean repeat(Duration delay);
}
