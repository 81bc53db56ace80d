package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests and responses whose fields are the components of records. */
@Timeout(120)
class RecordsInCallsTest {

    record Line(String article, int count) {}

    record Order(String customer, List<Line> lines, Optional<String> remark) {
        Order {
            if (lines.isEmpty()) {
                throw new IllegalArgumentException("an order has lines");
            }
        }
    }

    record Placed(long number, int articles) {}

    record Batch(Tensor values) {}

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.join("shop", handlers);
        workers.handle(handlers, "order.place", (message, outbox) -> {
            Order order = message.record(Order.class);
            int articles = order.lines().stream().mapToInt(Line::count).sum();
            outbox.response().fields(new Placed(order.customer().length(), articles));
        });
        workers.handle(
                handlers,
                "order.size",
                (message, outbox) -> outbox.response()
                        .int64("size", message.record(Batch.class).values().sizes()[0]));
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Response call(String operation, Record fields) {
        Request request = Request.operation("shop", operation).timeout(Duration.ofSeconds(60));
        request.body().fields(fields);
        return caller.call(request);
    }

    @Test
    void arriveAsTheyWereSent() {
        Order order = new Order("Ada", List.of(new Line("tea", 2), new Line("milk", 1)), Optional.empty());
        try (Response response = call("order.place", order)) {
            assertThat(response.record(Placed.class)).isEqualTo(new Placed(3, 3));
        }
    }

    @Test
    void haveTheTensorsOfTheirMessage() {
        Storage storage = caller.buffers().allocate(24);
        try (Response response =
                call("order.size", new Batch(Tensor.contiguous(DType.FLOAT64, new long[] {3}, storage)))) {
            assertThat(response.int64("size")).isEqualTo(3);
        }
        storage.release();
    }

    private void assertMalformed(Record fields, String text) {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> call("order.place", fields))
                .satisfies(failure -> assertThat(failure.code()).isEqualTo(ErrorCode.MALFORMED_BODY))
                .withMessageContaining(text);
    }

    @Test
    void areRefusedWhenTheHandlerNeedsOthers() {
        assertMalformed(Value.dict().put("customer", "Ada").build(), "lines must be of kind list, and is missing");
        assertMalformed(
                Value.dict()
                        .put("customer", "Ada")
                        .put(
                                "lines",
                                Value.list(Value.dict()
                                        .put("article", "tea")
                                        .put("count", "two")
                                        .build()))
                        .build(),
                "lines[0].count must be of kind int");
        assertMalformed(
                Value.dict().put("customer", "Ada").put("lines", Value.list()).build(), "an order has lines");
    }

    @Test
    void areRefusedWhenTheCallerNeedsOthers() {
        record Other(String number) {}
        Order order = new Order("Ada", List.of(new Line("tea", 2)), Optional.of("soon"));
        try (Response response = call("order.place", order)) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> response.record(Other.class))
                    .satisfies(failure -> assertThat(failure.code()).isEqualTo(ErrorCode.MALFORMED_BODY))
                    .withMessageContaining("responded with something else: the entry number must be of kind text");
        }
    }
}
