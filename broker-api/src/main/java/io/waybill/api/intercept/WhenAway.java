package io.waybill.api.intercept;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * What happens to the messages of a {@link CallInterceptor} or {@link HandlerInterceptor} while its bundle is updated: service property
 * {@code waybill.when.away}. The default is {@value #PARK} for a {@code CallInterceptor}, and {@value #PASS} for a {@code HandlerInterceptor}.
 *
 * <p>An interceptor that must see every message, such as an audit or a check, says {@value #PARK}. A stopped or uninstalled interceptor is passed by in
 * either case.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface WhenAway {

    /** The prefix of the service property. */
    String PREFIX_ = "waybill.";

    /**
     * Messages wait for the next version: calls up to their deadlines, and requests parked as for an absent handler, within the same limits. Those that a request
     * in flight may be waiting for get the version that leaves.
     */
    String PARK = "park";

    /** Messages pass the interceptor by. */
    String PASS = "pass";

    /** Returns {@link #PARK} or {@link #PASS}. */
    String value();
}
