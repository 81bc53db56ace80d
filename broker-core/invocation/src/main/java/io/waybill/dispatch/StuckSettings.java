package io.waybill.dispatch;

import java.time.Duration;

/**
 * Settings for stuck calls of handlers.
 *
 * @param afterNs time after its request's deadline at which a running call counts as stuck
 * @param withoutDeadlineNs time after which a call without a deadline counts as stuck; 0 for never
 * @param maxPerHandler max stuck calls of a handler whose threads are replaced; at this number it is out of service
 */
public record StuckSettings(long afterNs, long withoutDeadlineNs, int maxPerHandler) {

    public static final Duration AFTER_DEFAULT = Duration.ofSeconds(30);
    public static final Duration WITHOUT_DEADLINE_DEFAULT = Duration.ofMinutes(5);
    public static final int MAX_PER_HANDLER_DEFAULT = 8;
    public static final StuckSettings DEFAULT =
            new StuckSettings(AFTER_DEFAULT.toNanos(), WITHOUT_DEADLINE_DEFAULT.toNanos(), MAX_PER_HANDLER_DEFAULT);

    public StuckSettings {
        if (afterNs < 0 || withoutDeadlineNs < 0) {
            throw new IllegalArgumentException(
                    "handler.stuck-after and handler.stuck-without-deadline must be 0 or more: " + afterNs + " ns, "
                            + withoutDeadlineNs + " ns");
        }
        if (maxPerHandler < 1) {
            throw new IllegalArgumentException("handler.max-stuck must be 1 or more: " + maxPerHandler);
        }
    }
}
