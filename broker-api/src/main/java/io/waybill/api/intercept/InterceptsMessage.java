package io.waybill.api.intercept;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Messages for which a {@link CallInterceptor} or {@link HandlerInterceptor} is called: service property
 * {@code waybill.intercepts.message}.
 *
 * <p>Unlike handlers, several interceptors may match the same message: every interceptor whose keys match is called, in
 * the order of the service ranking, the highest nearest to the program or the handler.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface InterceptsMessage {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** Key for all operations. */
    String ALL_OPERATIONS = "*";

    /** Key for all types of request except {@code NAMED_CALL}. */
    String ALL_TYPES = "type:*";

    /**
     * Returns names of operations, such as {@code text.count}; prefixes of operations, such as {@code text.*};
     * {@link #ALL_OPERATIONS}; names or codes of request types, such as {@code SCRIPT_CALL} or {@code 0x142};
     * {@link #ALL_TYPES}; or {@code function:} and the name of a script function. Matches everything by default.
     *
     * <p>The broker's own messages (control calls, and those that count references) are never intercepted. A fetch of a
     * referenced value, {@code SCRIPT_RREF_FETCH_CALL}, is intercepted at its caller.
     */
    String[] value() default {ALL_OPERATIONS, ALL_TYPES};
}
