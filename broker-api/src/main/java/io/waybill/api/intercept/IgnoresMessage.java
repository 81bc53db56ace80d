package io.waybill.api.intercept;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Types of messages that bypass a {@link CallInterceptor} or {@link HandlerInterceptor}, although its
 * {@link InterceptsMessage} covers them: service property {@code waybill.ignores.message}. Such a message has no cost
 * for the interceptor, and does not wait while the interceptor is replaced. Intended for messages of the bundle's own
 * protocol.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface IgnoresMessage {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** Returns names or codes of request types, such as {@code BACKWARD_AUTOGRAD_REQ} or {@code 0x142}. */
    String[] value();
}
