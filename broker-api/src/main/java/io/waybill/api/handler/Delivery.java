package io.waybill.api.handler;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Whether a {@link MessageHandler} may be given a request again that it had begun when its worker died: service property
 * {@code waybill.delivery}, {@value #AT_MOST_ONCE} when nothing is said.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface Delivery {

    /** The prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** What a worker that died leaves unanswered ends with {@link ErrorCode#WORKER_LOST}. */
    String AT_MOST_ONCE = "at-most-once";

    /**
     * What a worker that died leaves unanswered is run when it returns, also when it had been begun: {@link Message#isRedelivery} tells.
     * For handlers that may do the same twice without harm.
     */
    String AT_LEAST_ONCE = "at-least-once";

    /** {@link #AT_MOST_ONCE} or {@link #AT_LEAST_ONCE}. */
    String value();
}
