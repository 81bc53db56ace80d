package io.waybill.dispatch;

import io.waybill.api.handler.Delivery;

/** What happens to a request that a worker did not complete before it ended, once the worker returns. */
public enum DeliveryPolicy {
    /** The request is rejected: nothing is begun twice. */
    AT_MOST_ONCE(Delivery.AT_MOST_ONCE),
    /** The request is run, even if it had been begun. */
    AT_LEAST_ONCE(Delivery.AT_LEAST_ONCE);

    private final String text;

    DeliveryPolicy(String text) {
        this.text = text;
    }

    /** Returns the policy as a handler declares it. */
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
