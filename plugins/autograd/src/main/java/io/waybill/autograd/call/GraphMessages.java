package io.waybill.autograd.call;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.message.ForwardEnvelope;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;

/**
 * Records the tensors of messages in the graph of their context: a sent message gets a send function, a received one a
 * receive function.
 *
 * <p><b>Threads.</b> Any.
 */
public final class GraphMessages {

    /** Message id of a message without tensors that require a gradient. */
    static final long NONE = 0;

    /** Bit in the counter of an id that is derived from a request's id. {@link Broker#nextId} never reaches it. */
    private static final long OF_REQUEST = 1L << 47;

    private final Broker broker;
    private final NativeTensors natives;
    private final ArrivedTensors arrived;

    public GraphMessages(Broker broker, NativeTensors natives, ArrivedTensors arrived) {
        this.broker = broker;
        this.natives = natives;
        this.arrived = arrived;
    }

    /** Returns whether any of these tensors requires a gradient. */
    static boolean isAnyOfGraph(List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).requiresGrad()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Records a response that is about to be sent, like {@link #send}. Its id follows from the request's, so a replay
     * gives an equal response.
     *
     * @param requestId id of the request on record
     */
    long respond(
            AutogradContext context,
            long requestId,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references)
            throws RejectedMessageException {
        if (!isAnyOfGraph(tensors)) {
            return NONE;
        }
        long id = requestId | OF_REQUEST;
        // a handler of another bundle may dispatch two messages of one request
        return send(context, context.graph().isSent(id) ? nextId() : id, type, payload, tensors, references);
    }

    /**
     * Records a message that is about to be sent, if one of its tensors requires a gradient.
     *
     * @return the id of its send function, or {@link #NONE}
     * @throws RejectedMessageException if libtorch can't use a tensor
     */
    long send(
            AutogradContext context,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references)
            throws RejectedMessageException {
        return isAnyOfGraph(tensors) ? send(context, nextId(), type, payload, tensors, references) : NONE;
    }

    @SuppressWarnings("try")
    private static long send(
            AutogradContext context,
            long messageId,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references)
            throws RejectedMessageException {
        Map<Tensor, SparseTensor> sparse = SparseParts.of(type, payload, tensors, references);
        List<NativeTensor> handles = new ArrayList<>(tensors.size());
        try (PointerScope scope = new PointerScope()) {
            for (Tensor tensor : tensors) {
                if (tensor.requiresGrad()) {
                    handles.add(context.leaves().of(tensor, sparse.get(tensor)));
                }
            }
            context.graph().sent(messageId, live(handles));
        } catch (IllegalStateException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, ContextTable.missing(context.id()), e);
        } finally {
            ArrivedTensors.release(handles);
        }
        return messageId;
    }

    private long nextId() {
        long id = broker.nextId();
        return id == NONE ? broker.nextId() : id;
    }

    private static List<org.bytedeco.pytorch.Tensor> live(List<NativeTensor> handles) {
        return handles.stream().map(NativeTensor::tensor).toList();
    }

    /**
     * Records a received message, and returns its tensors, with live ones in place of those that require a gradient.
     *
     * @param from id of the worker that has the send function
     * @return tensors with a count of each storage, which the caller releases or transfers
     */
    List<Tensor> receive(
            AutogradContext context,
            ForwardEnvelope envelope,
            int from,
            List<Tensor> tensors,
            List<? extends RRef> references)
            throws RejectedMessageException {
        ReplacedTensors replaced = new ReplacedTensors(tensors);
        try {
            if (envelope.isOfGraph()) {
                replace(
                        context,
                        envelope.messageId(),
                        from,
                        tensors,
                        SparseParts.of(envelope.type(), envelope.payload(), tensors, references),
                        replaced);
            }
            return replaced.take();
        } finally {
            replaced.release();
        }
    }

    @SuppressWarnings("try")
    private void replace(
            AutogradContext context,
            long messageId,
            int from,
            List<Tensor> tensors,
            Map<Tensor, SparseTensor> sparse,
            ReplacedTensors replaced)
            throws RejectedMessageException {
        List<Tensor> originals = new ArrayList<>();
        List<NativeTensor> handles = new ArrayList<>();
        try (PointerScope scope = new PointerScope()) {
            for (Tensor tensor : tensors) {
                if (tensor.requiresGrad()) {
                    originals.add(tensor);
                    SparseTensor whole = sparse.get(tensor);
                    handles.add(whole == null ? arrived.take(tensor) : arrived.take(whole));
                }
            }
            if (handles.isEmpty()) {
                throw new RejectedMessageException(
                        ErrorCode.MALFORMED_BODY,
                        "a message with an autograd message id has a tensor that requires a gradient, and message "
                                + messageId + " of context " + context.id() + " has none");
            }
            receive(context, messageId, from, handles);
            for (Tensor tensor : tensors) {
                if (!tensor.requiresGrad() && arrived.isHeldTooLong(tensor) && !isIndices(tensor, sparse)) {
                    originals.add(tensor);
                    handles.add(arrived.take(tensor));
                }
            }
            List<Value> described = natives.describe(handles);
            for (int i = 0; i < originals.size(); i++) {
                replaced.put(originals.get(i), sparse.get(originals.get(i)), described.get(i));
            }
        } catch (IllegalStateException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, ContextTable.missing(context.id()), e);
        } finally {
            ArrivedTensors.release(handles);
        }
    }

    private static void receive(AutogradContext context, long messageId, int from, List<NativeTensor> handles)
            throws RejectedMessageException {
        try {
            context.graph().received(messageId, from, live(handles));
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, e.getMessage() + ", which is " + context.id(), e);
        }
    }

    private static boolean isIndices(Tensor tensor, Map<Tensor, SparseTensor> sparse) {
        return sparse.values().stream().anyMatch(whole -> whole.indices() == tensor || whole.values() == tensor);
    }

    /** Removes a message that did not arrive. */
    void unsent(AutogradContext context, long messageId) {
        context.graph().unsent(messageId);
    }
}
