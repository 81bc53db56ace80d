package io.waybill.api.handler;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Declares that a {@link MessageHandler} never blocks: service property {@code waybill.non.blocking}. Such a handler
 * runs on the worker's poller, however long ago the last one ran: no thread has to be woken for it. One that blocks for some messages is
 * {@link SelectivelyBlocking}.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface NonBlocking {

    /** The prefix of the service property. */
    String PREFIX_ = "waybill.";
}
