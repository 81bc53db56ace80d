package io.waybill.dispatch;

import io.waybill.api.handler.Delivery;

/** What becomes of a request that a worker left unanswered when it died, once the worker returns. */
public enum DeliveryPolicy {
    /** It is refused: nothing is begun twice. */
    AT_MOST_ONCE(Delivery.AT_MOST_ONCE),
    /** It is run, also when it had been begun. */
    AT_LEAST_ONCE(Delivery.AT_LEAST_ONCE);

    private final String text;

    DeliveryPolicy(String text) {
        this.text = text;
    }

    /** As a handler declares it. */
    public String text() {
        return text;
    }

    /**
     * Reads what a handler declares.
     *
     * @throws IllegalArgumentException when it is no policy
     */
    public static DeliveryPolicy parse(String text) {
        for (DeliveryPolicy policy : values()) {
            if (policy.text.equals(text)) {
                return policy;
            }
        }
        throw new IllegalArgumentException("a handler's delivery is " + Delivery.AT_MOST_ONCE + " or "
                + Delivery.AT_LEAST_ONCE + ", not \"" + text + "\"");
    }
}
