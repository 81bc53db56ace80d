package io.waybill.api.handler;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/** Messages that a {@link MessageHandler} accepts: service property {@code waybill.handles.message}. */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface HandlesMessage {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /**
     * Returns names of operations, such as {@code text.count}; names of request types, such as {@code SCRIPT_CALL}; or
     * codes of request types, such as {@code 0x142}. A name with a dot is an operation.
     *
     * <p>Patterns are valid, too: {@code py.*} for every operation that begins with {@code py.}, {@code *} for every
     * operation, {@code type:*} for every type of request except {@code NAMED_CALL}. A message goes to the handler with
     * the most specific match; of prefixes, the longest. Two bundles can't handle the same name or pattern: the second
     * one is refused.
     */
    String[] value();
}
