package io.waybill.testing.configured;

import io.waybill.api.Message;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Responds with a text of its settings. */
@Component
@HandlesMessage("greeting.say")
public final class Greeting implements MessageHandler {

    private final String text;

    /** Settings. */
    public @interface Config {
        /** The text. */
        String text() default "nothing";
    }

    @Activate
    public Greeting(Config config) {
        text = config.text();
    }

    @Override
    public void handle(Message message, Outbox outbox) {
        outbox.response().text("text", text);
    }
}
