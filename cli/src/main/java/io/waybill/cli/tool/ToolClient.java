package io.waybill.cli.tool;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Control calls to a node about the commands of its bundles.
 *
 * <p><b>Threads.</b> One, except for {@link #end}. <b>Ownership.</b> Owns the calling worker.
 */
final class ToolClient implements AutoCloseable {

    /** Limit of a control call: a read waits up to a second for output; the rest is for a busy host. */
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private static final long END_LIMIT_MS = 500;

    private final CallingWorker caller;
    private final String node;

    ToolClient(CallingWorker caller, String node) {
        this.caller = caller;
        this.node = node;
    }

    /** Returns the commands of the node. */
    List<Value> list() throws CommandFailedException {
        return ToolFields.items(call("tools.list", Map.of()), "commands");
    }

    /** Calls an operation and returns the fields of the response. */
    Value call(String operation, Map<String, Value> fields) throws CommandFailedException {
        try (Response response = caller.call(request(operation, fields))) {
            return response.value();
        } catch (CallException e) {
            if (e.code() == ErrorCode.UNKNOWN_OPERATION || e.code() == ErrorCode.UNKNOWN_TYPE) {
                throw new CommandFailedException(node + " has no bundles, and so no commands of bundles", e);
            }
            throw e;
        }
    }

    private Request request(String operation, Map<String, Value> fields) {
        Invocation invocation = new Invocation(operation, List.of(), fields);
        return Request.invocation(node, MessageType.CONTROL_CALL, invocation).timeout(LIMIT);
    }

    /** Cancels a run, with a short wait. If this fails, the node cancels it by itself. */
    void end(long run) {
        try {
            caller.worker()
                    .callAsync(request("tools.end", Map.of("run", Value.of(run))))
                    .get(END_LIMIT_MS, TimeUnit.MILLISECONDS)
                    .close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (java.util.concurrent.ExecutionException | TimeoutException | RuntimeException e) {
            // without reads the node cancels the run
        }
    }

    @Override
    public void close() throws IOException {
        caller.close();
    }
}
