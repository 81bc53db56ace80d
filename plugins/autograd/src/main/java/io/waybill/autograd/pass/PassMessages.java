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
import io.waybill.api.ValueEncoder;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.call.ArrivedTensors;
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
 * Sends the messages of backward passes. Methods do not wait for responses.
 *
 * <p><b>Threads.</b> Any.
 */
final class PassMessages {

    private final Broker broker;
    private final Notifications notifications;
    private final ArrivedTensors arrived;

    PassMessages(Broker broker, Notifications notifications, ArrivedTensors arrived) {
        this.broker = broker;
        this.notifications = notifications;
        this.arrived = arrived;
    }

    /**
     * Sends gradients to the sender of a message.
     *
     * @param isPassedOn whether the pass moves there with them
     */
    void gradients(
            PassRun run, RecvId to, List<org.bytedeco.pytorch.Tensor> gradients, boolean isPassedOn, PassEnd end) {
        if (isLost(run, to, end)) {
            return;
        }
        BackwardMessage message;
        BackwardMessage.Encoded encoded;
        try {
            message = run.gradients(to.messageId(), described(gradients), isPassedOn, true);
            encoded = message.encode();
        } catch (CallException e) {
            end.failed(e);
            return;
        }
        try {
            send(to.worker(), encoded, new Returning(run, message, end));
        } finally {
            encoded.release();
        }
    }

    /**
     * Encodes gradients for the response to the sender of a message.
     *
     * @param isPassedOn whether the pass moves back there with them
     * @return the gradients, which the caller owns
     * @throws CallException if one can't be sent
     */
    BackwardMessage.Encoded returned(
            PassRun run, RecvId to, List<org.bytedeco.pytorch.Tensor> gradients, boolean isPassedOn) {
        return run.gradients(to.messageId(), described(gradients), isPassedOn, false)
                .encode();
    }

    private static Value described(List<org.bytedeco.pytorch.Tensor> gradients) {
        List<Value> values = new ArrayList<>(gradients.size());
        boolean isDone = false;
        try {
            for (org.bytedeco.pytorch.Tensor gradient : gradients) {
                values.add(gradient.defined() ? described(gradient) : Value.NONE);
            }
            isDone = true;
            return new Value.Items(values);
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), MessageId.NONE, e.getMessage(), e);
        } finally {
            if (!isDone) {
                ValueEncoder known = new ValueEncoder().value(new Value.Items(values));
                known.tensors().forEach(tensor -> tensor.storage().release());
            }
        }
    }

    /** Describes a gradient for a message to another worker, which receives its bytes. */
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

    /** Asks the sender of a message to discover the functions that its send function leads to. */
    void discover(PassRun run, RecvId to, PassEnd end) {
        if (!isLost(run, to, end)) {
            send(
                    to.worker(),
                    run.message(to.messageId(), BackwardMessage.Kind.DISCOVER, Value.NONE)
                            .encode(),
                    new Ended(end));
        }
    }

    /** Notifies a worker that the pass has failed. */
    void failed(PassRun run, int worker, ErrorCode code, String text) {
        ByteBuffer payload = run.message(0, BackwardMessage.Kind.FAILED, BackwardMessage.failed(code, text))
                .encode()
                .payload();
        notifications.send(worker, MessageType.BACKWARD_AUTOGRAD_REQ, payload, failure -> {
            // it has ended, or does not respond: its part is then released with the context
        });
    }

    /** Fails the request if the sender of a message has ended. */
    private static boolean isLost(PassRun run, RecvId to, PassEnd end) {
        Optional<String> sender = run.context().lostSender(to.messageId());
        sender.ifPresent(name -> end.failed(Passes.failure(
                ErrorCode.WORKER_LOST,
                "worker " + name + " has ended, and with it the graph of message " + to.messageId()
                        + ", which takes part in a backward pass of context "
                        + run.context().id())));
        return sender.isPresent();
    }

    private void send(int worker, BackwardMessage.Encoded encoded, Ended end) {
        Request request = Request.raw(
                WorkerInfo.address(worker), MessageType.BACKWARD_AUTOGRAD_REQ, encoded.payload(), encoded.tensors());
        try {
            broker.caller().call(request, end);
        } catch (CallException e) {
            if (e.code() == ErrorCode.BACK_PRESSURE && !broker.mayWait()) {
                sendLater(worker, encoded, end);
            } else {
                end.onFailure(e);
            }
        } catch (IllegalStateException e) { // a replay sends nothing
            end.onFailure(Passes.failure(ErrorCode.CLOSED, e.getMessage()));
        }
    }

    /** Sends a message on a thread that may wait for room. */
    private void sendLater(int worker, BackwardMessage.Encoded encoded, Ended end) {
        encoded.tensors().forEach(tensor -> tensor.storage().retain());
        Runnable sending = () -> {
            try {
                send(worker, encoded, end);
            } finally {
                encoded.release();
            }
        };
        try {
            broker.schedule(Duration.ZERO, sending);
        } catch (IllegalStateException e) { // the worker is closing, or too many tasks wait
            encoded.release();
            end.onFailure(Passes.failure(ErrorCode.BACK_PRESSURE, e.getMessage()));
        }
    }

    /** Listener that passes an outcome on. */
    private static class Ended implements ResponseListener {

        final PassEnd end;

        Ended(PassEnd end) {
            this.end = end;
        }

        @Override
        public void onResponse(Response response) {
            end.done();
        }

        @Override
        public final void onFailure(CallException failure) {
            end.failed(failure);
        }
    }

    /** Listener that passes an outcome on, and the gradients that a response to gradients may carry. */
    private final class Returning extends Ended {

        private final PassRun run;
        private final BackwardMessage request;

        Returning(PassRun run, BackwardMessage request, PassEnd end) {
            super(end);
            this.run = run;
            this.request = request;
        }

        @Override
        public void onResponse(Response response) {
            if (!response.payload().hasRemaining()) {
                end.done();
                return;
            }
            try {
                BackwardMessage returned =
                        BackwardMessage.decodeResponse(request, response.payload(), response.tensors());
                arrived.with(returned.gradients(), gradients -> run.returned(returned, gradients, end));
            } catch (RejectedMessageException e) {
                end.failed(Passes.failure(e.code(), e.getMessage()));
            }
        }
    }
}
