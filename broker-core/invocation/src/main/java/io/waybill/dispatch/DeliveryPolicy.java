package io.waybill.dispatch;

import io.waybill.api.handler.Delivery;

/** Policy for a request that a worker did not complete before it ended, applied when the worker returns. */
public enum DeliveryPolicy {
    /** Rejects the request: nothing is begun twice. */
    AT_MOST_ONCE(Delivery.AT_MOST_ONCE),
    /** Runs the request, even if it had been begun. */
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
     * Parses the policy that a handler declares.
     *
     * @throws IllegalArgumentException when the text is no policy
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
