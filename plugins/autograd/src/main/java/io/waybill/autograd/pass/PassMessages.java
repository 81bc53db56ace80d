package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.context.Notifications;
import io.waybill.autograd.graph.RecvId;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.torch.DescribedResults;
import io.waybill.torch.LeasedTensors;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;

/**
 * Sends the messages of backward passes. None waits for its response.
 *
 * <p><b>Threads.</b> Any.
 */
final class PassMessages {

    private final Broker broker;
    private final Notifications notifications;

    PassMessages(Broker broker, Notifications notifications) {
        this.broker = broker;
        this.notifications = notifications;
    }

    /**
     * Sends gradients to the worker that a message came from.
     *
     * @param isPassedOn whether the pass goes there with them
     */
    void gradients(
            PassRun run, RecvId to, List<org.bytedeco.pytorch.Tensor> gradients, boolean isPassedOn, PassEnd end) {
        if (isLost(run, to, end)) {
            return;
        }
        List<Value> values = new ArrayList<>(gradients.size());
        List<Tensor> sent = List.of();
        try {
            for (org.bytedeco.pytorch.Tensor gradient : gradients) {
                values.add(gradient.defined() ? described(gradient) : Value.NONE);
            }
            BackwardMessage.Encoded encoded = run.gradients(to.messageId(), new Value.Items(values), isPassedOn)
                    .encode();
            sent = encoded.tensors();
            send(to.worker(), encoded, end);
        } catch (RejectedMessageException e) {
            end.failed(new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), MessageId.NONE, e.getMessage(), e));
        } finally {
            sent.forEach(tensor -> tensor.storage().release());
        }
    }

    /** Describes a gradient for a message to another worker, which gets its bytes. */
    @SuppressWarnings("try")
    private static Value described(org.bytedeco.pytorch.Tensor gradient) throws RejectedMessageException {
        DescribedResults described = LeasedTensors.forCall().results();
        boolean isDone = false;
        try (PointerScope scope = new PointerScope()) {
            Value value = described.value(gradient.requires_grad() ? gradient.detach() : gradient);
            isDone = true;
            return value;
        } finally {
            if (!isDone) {
                described.release();
            }
        }
    }

    /** Asks the worker that a message came from for what its send function leads to. */
    void discover(PassRun run, RecvId to, PassEnd end) {
        if (!isLost(run, to, end)) {
            send(
                    to.worker(),
                    run.message(to.messageId(), BackwardMessage.Kind.DISCOVER, Value.NONE)
                            .encode(),
                    end);
        }
    }

    /** Notifies a worker that the pass has failed. */
    void failed(PassRun run, int worker, ErrorCode code, String text) {
        ByteBuffer payload = run.message(0, BackwardMessage.Kind.FAILED, BackwardMessage.failed(code, text))
                .encode()
                .payload();
        notifications.send(worker, MessageType.BACKWARD_AUTOGRAD_REQ, payload, failure -> {
            // it has ended, or does not respond: then its part ends with the context
        });
    }

    /** Fails the request if the worker that a message came from has ended. */
    private static boolean isLost(PassRun run, RecvId to, PassEnd end) {
        Optional<String> sender = run.context().lostSender(to.messageId());
        sender.ifPresent(name -> end.failed(Passes.failure(
                ErrorCode.WORKER_LOST,
                "worker " + name + " has ended, and with it the graph of message " + to.messageId()
                        + ", which takes part in a backward pass of context "
                        + run.context().id())));
        return sender.isPresent();
    }

    private void send(int worker, BackwardMessage.Encoded encoded, PassEnd end) {
        Request request = Request.raw(
                WorkerInfo.address(worker), MessageType.BACKWARD_AUTOGRAD_REQ, encoded.payload(), encoded.tensors());
        try {
            broker.caller().call(request, new Ended(end));
        } catch (CallException e) {
            if (e.code() == ErrorCode.BACK_PRESSURE && !broker.mayWait()) {
                sendLater(worker, encoded, end);
            } else {
                end.failed(e);
            }
        } catch (IllegalStateException e) { // a replay sends nothing
            end.failed(Passes.failure(ErrorCode.CLOSED, e.getMessage()));
        }
    }

    /** Sends a message on a thread that may wait until there is room for it. */
    private void sendLater(int worker, BackwardMessage.Encoded encoded, PassEnd end) {
        encoded.tensors().forEach(tensor -> tensor.storage().retain());
        Runnable sending = () -> {
            try {
                send(worker, encoded, end);
            } finally {
                encoded.tensors().forEach(tensor -> tensor.storage().release());
            }
        };
        try {
            broker.schedule(Duration.ZERO, sending);
        } catch (IllegalStateException e) { // the worker ends, or too much waits
            encoded.tensors().forEach(tensor -> tensor.storage().release());
            end.failed(Passes.failure(ErrorCode.BACK_PRESSURE, e.getMessage()));
        }
    }

    /** Passes an outcome on. */
    private record Ended(PassEnd end) implements ResponseListener {

        @Override
        public void onResponse(Response response) {
            end.done();
        }

        @Override
        public void onFailure(CallException failure) {
            end.failed(failure);
        }
    }
}
