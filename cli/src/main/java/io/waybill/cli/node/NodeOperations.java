package io.waybill.cli.node;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.admin.SettingChange;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.CloseSteps;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Control operations for {@code waybill stop} and {@code waybill restart}, which stop a node, and for
 * {@code waybill reload}, which makes it reread its settings.
 *
 * <pre>
 * control:node.stop     restart     {}
 * control:node.reload               {changes: list of {@link SettingChange}}
 * </pre>
 *
 * The first one responds when the node has begun to stop.
 *
 * <p><b>Threads.</b> Any; the operations run on a separate thread. <b>Ownership.</b> Its creator closes it.
 */
final class NodeOperations implements AutoCloseable {

    private static final String STOP = "control:node.stop";
    private static final String RELOAD = "control:node.reload";
    private static final String RESTART = "restart";
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);

    private final HandlerExecutor executor;
    private final List<HandlerRegistry.Registration> registrations = new ArrayList<>();
    private static final String STARTING = "this node is starting; try again when it is ready";

    private volatile NodeStop stop =
            then -> { // set by the thread that starts or runs the node, read by the operation's thread
                throw new RejectedMessageException(ErrorCode.REFUSED, STARTING);
            };
    private volatile Reload reload = () -> { // set by the thread that starts the node, read by the operation's thread
        throw new IOException(STARTING);
    };

    /** Action that rereads the settings. */
    @FunctionalInterface
    interface Reload {
        List<SettingChange> run() throws IOException;
    }

    private record Reloaded(List<SettingChange> changes) {}

    NodeOperations(HandlerRegistry handlers, String version) {
        Provider self = new Provider("waybill", version);
        executor = handlers.newExecutor(self, ExecutorSettings.forProcessors(1));
        registrations.add(handlers.add(HandlerSpec.of(HandlerKey.parse(STOP), this::stop, self, executor)));
        registrations.add(handlers.add(HandlerSpec.of(HandlerKey.parse(RELOAD), this::reload, self, executor)));
    }

    /** Sets the action that stops the node. */
    void onStop(NodeStop other) {
        stop = other;
    }

    /**
     * Sets the action that rereads the settings, after the node has started. Until {@link #onStop} a call can't stop
     * the node.
     */
    void started(Reload other) {
        reload = other;
        stop = then -> {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED, "this node is not run by waybill node: end the program that it is part of");
        };
    }

    private void reload(Message message, Outbox outbox) throws RejectedMessageException {
        try {
            outbox.response().fields(new Reloaded(reload.run()));
        } catch (IOException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, "nothing was changed: " + e.getMessage(), e);
        }
    }

    private void stop(Message message, Outbox outbox) throws RejectedMessageException {
        Value restart = message.invocation().named().getOrDefault(RESTART, Value.of(false));
        stop.begin(restart.equals(Value.of(true)) ? NodeStop.Then.START_AGAIN : NodeStop.Then.STAY_STOPPED);
        outbox.response();
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        registrations.forEach(each -> steps.attempt(() -> each.withdraw(CLOSE_LIMIT)));
        steps.attempt(() -> executor.close(CLOSE_LIMIT)).finishUnchecked();
    }
}
