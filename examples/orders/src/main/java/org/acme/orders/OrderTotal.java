package org.acme.orders;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.util.List;
import org.osgi.service.component.annotations.Component;

/** Responds to {@code orders.total} with the sum of an order that is written as JSON. */
@Component
@HandlesMessage("orders.total")
public final class OrderTotal implements MessageHandler {

    private final ObjectMapper json = new ObjectMapper();

    /** An order as it is written. */
    public record Order(String customer, List<Line> lines) {}

    /** One line of an order. */
    public record Line(long count, long cents) {}

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        try {
            Order order = json.readValue(message.text("order"), Order.class);
            long cents = order.lines().stream()
                    .mapToLong(line -> line.count() * line.cents())
                    .sum();
            outbox.response().text("customer", order.customer()).int64("cents", cents);
        } catch (JsonProcessingException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "no order: " + e.getOriginalMessage(), e);
        }
    }
}
