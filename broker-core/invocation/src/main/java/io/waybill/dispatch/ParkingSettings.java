package io.waybill.dispatch;

import java.time.Duration;

/**
 * Limits of parked requests.
 *
 * @param maxMessages max requests parked at once in a worker, over all keys
 * @param maxDurationNs max time after the removal of its handler in which a request may park; counted on the monotonic
 * clock
 */
public record ParkingSettings(int maxMessages, long maxDurationNs) {

    public static final int MAX_MESSAGES_DEFAULT = 100_000;
    public static final Duration MAX_DURATION_DEFAULT = Duration.ofSeconds(60);
    public static final ParkingSettings DEFAULT =
            new ParkingSettings(MAX_MESSAGES_DEFAULT, MAX_DURATION_DEFAULT.toNanos());

    public ParkingSettings {
        if (maxMessages < 0) {
            throw new IllegalArgumentException("parking.max-messages must be 0 or more: " + maxMessages);
        }
        if (maxDurationNs < 0) {
            throw new IllegalArgumentException("parking.max-duration must be 0 or more: " + maxDurationNs + " ns");
        }
    }
}
