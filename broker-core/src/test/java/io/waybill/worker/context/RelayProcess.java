package io.waybill.worker.context;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.Outbox;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;

/** A worker of its own that calls its caller back, until its input ends. Argument: the home. */
final class RelayProcess {

    private RelayProcess() {}

    public static void main(String[] args) throws IOException {
        try (Worker worker = Waybill.connect(Path.of(args[0]), "relay")
                .with("text.relay", RelayProcess::relay)
                .join()) {
            System.out.println("joined " + worker.info().name());
            while (System.in.read() >= 0) {
                Thread.onSpinWait(); // until the end
            }
        }
    }

    private static void relay(Message message, Outbox outbox) throws RejectedMessageException {
        String here = CallContext.current().text("k").orElse("none");
        CallContext more = CallContext.current().with("relayed", "yes");
        try (Response there = more.supply(
                () -> outbox.caller().call(Request.operation(String.valueOf(message.from()), "text.seen")))) {
            outbox.response().text("here", here).text("there", there.text("seen"));
        }
    }
}
