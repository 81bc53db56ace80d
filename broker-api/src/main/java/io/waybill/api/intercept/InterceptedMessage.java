package io.waybill.api.intercept;

import io.waybill.api.Message;
import org.osgi.annotation.versioning.ProviderType;

/** Request before it reaches its handler. */
@ProviderType
public interface InterceptedMessage extends Message {

    /**
     * Attaches an object to the request for {@link HandlerInterceptor#after}; see {@link HandledMessage#attachment}.
     * The broker drops the object with the outcome.
     */
    void attach(Object attachment);
}
