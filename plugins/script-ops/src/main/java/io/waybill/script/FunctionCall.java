package io.waybill.script;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Handler of SCRIPT_CALL for the functions of one script. Functions may run long, so it runs on the bundle's threads.
 *
 * <p><b>Threads.</b> Any number at once. <b>Errors.</b> Those of {@link ScriptEngine#run}.
 */
final class FunctionCall implements MessageHandler {

    private final ScriptEngine engine;
    private final Map<String, ScriptFunction> functions;

    FunctionCall(ScriptEngine engine, CompiledScript script) {
        this.engine = engine;
        this.functions =
                script.functions().stream().collect(Collectors.toMap(ScriptFunction::name, Function.identity()));
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        try (ScriptCalls calls = new ScriptCalls(outbox::rpc)) {
            outbox.respond(engine.run(functions.get(message.operation()), message.invocation(), calls));
        }
    }
}
