package io.waybill.query.verify;

/**
 * Counts of what {@code verify} read and found. Immutable.
 *
 * @param damages findings of severity {@link Finding.Severity#DAMAGE}
 * @param unanswered requests without a response
 */
public record Verification(long journals, long records, long damages, long unanswered) {

    public boolean isWhole() {
        return damages == 0;
    }
}
