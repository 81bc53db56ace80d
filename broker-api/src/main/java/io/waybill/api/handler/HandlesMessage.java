package io.waybill.api.handler;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/** Messages that a {@link MessageHandler} accepts: service property {@code waybill.handles.message}. */
@ComponentPropertyType
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface HandlesMessage {

    /** The prefix of the service property. */
    String PREFIX_ = "waybill.";

    /**
     * Names of operations, such as {@code text.count}; names of request types, such as {@code SCRIPT_CALL}; or codes of request types,
     * such as {@code 0x142}. A name with a dot is an operation.
     */
    String[] value();
}
