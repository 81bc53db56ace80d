package io.waybill.script;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Handler of SCRIPT_CALL for operators: runs the named operator, and responds with its result, a tuple if it has
 * several. Functions of scripts have their own handlers; a call of a missing function arrives here and is refused.
 *
 * <p><b>Threads.</b> Any number at once. <b>Errors.</b> Those of {@link ScriptEngine#runOperator}.
 */
@Component
@HandlesMessage("SCRIPT_CALL")
@NonBlocking
public final class ScriptCall implements MessageHandler {

    private final ScriptEngine engine;

    @Activate
    public ScriptCall(@Reference ScriptEngine engine) {
        this.engine = engine;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.respond(engine.runOperator(message.invocation(), outbox));
    }
}
