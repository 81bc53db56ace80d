package io.waybill.api.intercept;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Messages that a {@link CallInterceptor} or {@link HandlerInterceptor} is called for: service property
 * {@code waybill.intercepts.message}.
 *
 * <p>Unlike a handler, an interceptor does not take a message from others: every interceptor whose keys match is called, in the order of the
 * service ranking, the highest nearest to the program or the handler.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface InterceptsMessage {

    /** The prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** All operations. */
    String ALL_OPERATIONS = "*";

    /** All types of request except {@code NAMED_CALL}. */
    String ALL_TYPES = "type:*";

    /**
     * Names of operations, such as {@code text.count}; prefixes of operations, such as {@code text.*}; {@link #ALL_OPERATIONS}; names or
     * codes of request types, such as {@code SCRIPT_CALL} or {@code 0x142}; {@link #ALL_TYPES}; or {@code function:} and the name of a
     * script function. The default is everything.
     *
     * <p>The broker's own messages (control calls, and those that count references) are never intercepted. A fetch of a referenced value,
     * {@code SCRIPT_RREF_FETCH_CALL}, is intercepted at its caller.
     */
    String[] value() default {ALL_OPERATIONS, ALL_TYPES};
}
