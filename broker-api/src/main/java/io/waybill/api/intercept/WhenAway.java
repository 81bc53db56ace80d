package io.waybill.api.intercept;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Treatment of the messages of a {@link CallInterceptor} or {@link HandlerInterceptor} while its bundle is updated:
 * service property {@code waybill.when.away}. Defaults to {@value #PARK} for a {@code CallInterceptor}, and to
 * {@value #PASS} for a {@code HandlerInterceptor}.
 *
 * <p>An interceptor that must see every message, such as an audit or a check, uses {@value #PARK}. Messages always
 * bypass a stopped or uninstalled interceptor.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface WhenAway {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /**
     * Messages wait for the next version: calls up to their deadlines, and requests parked as for an absent handler,
     * within the same limits. Messages that a request in flight may wait for still use the old version.
     */
    String PARK = "park";

    /** Messages bypass the interceptor. */
    String PASS = "pass";

    /** Returns {@link #PARK} or {@link #PASS}. */
    String value();
}
