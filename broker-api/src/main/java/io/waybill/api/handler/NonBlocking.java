package io.waybill.api.handler;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Declares that a {@link MessageHandler} never blocks: service property {@code waybill.non.blocking}. Such a handler
 * always runs on the worker's poller, which saves a thread switch. A handler that blocks for some messages implements
 * {@link SelectivelyBlocking}.
 */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface NonBlocking {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";
}
