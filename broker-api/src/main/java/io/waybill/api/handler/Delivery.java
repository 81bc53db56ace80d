package io.waybill.api.handler;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Delivery guarantee of a {@link MessageHandler}: whether a request may be delivered again if its worker ended while
 * handling it. Service property {@code waybill.delivery}, default {@value #AT_MOST_ONCE}.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Delivery {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** Requests that were incomplete when their worker ended fail with {@link ErrorCode#WORKER_LOST}. */
    String AT_MOST_ONCE = "at-most-once";

    /**
     * Requests that were incomplete when their worker ended run when it rejoins, including those that had begun;
     * {@link Message#isRedelivery} marks the latter. For idempotent handlers.
     */
    String AT_LEAST_ONCE = "at-least-once";

    /** Returns {@link #AT_MOST_ONCE} or {@link #AT_LEAST_ONCE}. */
    String value();
}
