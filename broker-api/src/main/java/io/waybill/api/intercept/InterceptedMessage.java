package io.waybill.api.intercept;

import io.waybill.api.Message;
import org.osgi.annotation.versioning.ProviderType;

/** A request before its handler. */
@ProviderType
public interface InterceptedMessage extends Message {

    /**
     * Keeps an object for {@link HandlerInterceptor#after} of this request, see {@link HandledMessage#attachment}. The broker drops it with
     * the outcome.
     */
    void attach(Object attachment);
}
