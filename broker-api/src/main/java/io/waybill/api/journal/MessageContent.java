package io.waybill.api.journal;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/** The content of a recorded message, as far as its type defines it. Immutable. */
@ProviderType
public interface MessageContent {

    /** Returns the operation and the arguments of a call by name. */
    Optional<Invocation> call();

    /** Returns the value of a response to one. */
    Optional<Value> result();

    /** Returns the text of an exception. */
    Optional<String> text();

    /**
     * Returns the tensors, of which the payload refers to some. Kind, shape and size are there; the elements are read by
     * {@link JournalReader#read}.
     */
    List<Tensor> tensors();

    /** Returns the context of a request. */
    CallContext context();

    /** Returns why the payload can't be decoded as its type requires; empty if it can, or the type defines no content. */
    String problem();
}
