package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Records as dicts, and back. */
class RecordCodecTest {

    enum Kind {
        SMALL,
        LARGE {} // has a class of its own
    }

    record Line(String article, int count) {}

    record Order(
            String customer,
            boolean isPaid,
            int priority,
            long number,
            double total,
            Kind kind,
            Instant at,
            Optional<String> remark,
            List<Line> lines,
            Map<String, Long> weights,
            Device device,
            DType type,
            Value any) {}

    record Bytes(byte[] content) {}

    record Limited(int count) {
        Limited {
            if (count > 3) {
                throw new IllegalStateException("count is at most 3: " + count);
            }
        }
    }

    record Unknown(StringBuilder text) {}

    private static Order order(Optional<String> remark) {
        Map<String, Long> weights = new LinkedHashMap<>();
        weights.put("b", Long.MIN_VALUE);
        weights.put("a", 2L);
        return new Order(
                "Ada",
                true,
                Integer.MIN_VALUE,
                Long.MAX_VALUE,
                -0.5,
                Kind.LARGE,
                Instant.ofEpochSecond(-1, 999_999_999),
                remark,
                List.of(new Line("tea", 2), new Line("", 0)),
                weights,
                new Device("cuda", 1),
                DType.BFLOAT16,
                Value.tuple(Value.NONE, Value.of(1.5)));
    }

    @Test
    void aRecordIsTheSameAfterAWayThroughAPayload() throws Exception {
        for (Order order : List.of(order(Optional.empty()), order(Optional.of("")))) {
            ValueEncoder encoder = new ValueEncoder();
            encoder.value(RecordCodec.encode(order));
            Value received = new ValueDecoder(ByteBuffer.wrap(encoder.toBytes()), List.of()).value();
            assertThat(RecordCodec.decode(received, Order.class)).isEqualTo(order);
        }
        byte[] content = {0, -1};
        Value.Dict bytes = RecordCodec.encode(new Bytes(content));
        RecordCodec.decode(bytes, Bytes.class).content()[0] = 7;
        assertThat(RecordCodec.decode(bytes, Bytes.class).content())
                .as("bytes of a value, after another record of it was changed")
                .isEqualTo(content);
    }

    @Test
    void aRecordIsADictOfItsComponentsInTheirOrder() {
        assertThat(RecordCodec.encode(new Line("tea", 2)))
                .isEqualTo(Value.dict().put("article", "tea").put("count", 2).build());
        assertThat(RecordCodec.encode(order(Optional.empty())).entries().keySet())
                .startsWith(Value.of("customer"), Value.of("isPaid"), Value.of("priority"))
                .endsWith(Value.of("type"), Value.of("any"));
        assertThat(RecordCodec.encode(order(Optional.empty())).entries())
                .containsEntry(Value.of("at"), Value.of(-1L))
                .containsEntry(Value.of("kind"), Value.of("LARGE"))
                .containsEntry(Value.of("remark"), Value.NONE);
    }

    @Test
    void entriesThatTheRecordLacksAreIgnoredAndOptionalOnesMayBeMissing() {
        record Note(Optional<String> text, Optional<Long> page) {}
        Value.Dict value =
                Value.dict().put("page", 7).put("new", "later version").build();
        assertThat(RecordCodec.decode(value, Note.class)).isEqualTo(new Note(Optional.empty(), Optional.of(7L)));
    }

    @Test
    void anIntIsTakenForAFloat() {
        record Total(double total) {}
        assertThat(RecordCodec.decode(Value.dict().put("total", 3).build(), Total.class))
                .isEqualTo(new Total(3));
    }

    static List<Arguments> refused() {
        Value line = Value.dict().put("article", "tea").put("count", 1L << 31).build();
        Value unnamed = new Value.Dict(Map.of(Value.of(1), Value.of(2)));
        return List.of(
                Arguments.of(Value.of("tea"), Line.class, "the value must be of kind dict, and is of kind text"),
                Arguments.of(
                        Value.dict().build(), Line.class, "the entry article must be of kind text, and is missing"),
                Arguments.of(line, Line.class, "the entry count is out of range: 2147483648"),
                Arguments.of(
                        Value.dict().put("count", 4).build(),
                        Limited.class,
                        "the value is no Limited: count is at most 3: 4"),
                Arguments.of(
                        with("lines", Value.list(RecordCodec.encode(new Line("tea", 1)), line)),
                        Order.class,
                        "the entry lines[1].count is out of range: 2147483648"),
                Arguments.of(
                        with("kind", Value.of("HUGE")),
                        Order.class,
                        "the entry kind must be one of [SMALL, LARGE], and is HUGE"),
                Arguments.of(
                        with("weights", unnamed),
                        Order.class,
                        "the entry weights must be of kind text, and is of kind int"),
                Arguments.of(
                        with("remark", Value.of(1)),
                        Order.class,
                        "the entry remark must be of kind text, and is of kind int"),
                Arguments.of(
                        with("device", Value.of("cpu")),
                        Order.class,
                        "the entry device must be of kind device, and is of kind text"));
    }

    private static Value with(String name, Value value) {
        Map<Value, Value> entries =
                new LinkedHashMap<>(RecordCodec.encode(order(Optional.empty())).entries());
        entries.put(Value.of(name), value);
        return new Value.Dict(entries);
    }

    @ParameterizedTest(name = "{2}")
    @MethodSource("refused")
    void aValueThatIsNoSuchRecordIsRefusedByTheNameOfItsEntry(Value value, Class<? extends Record> type, String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RecordCodec.decode(value, type))
                .withMessage(text);
    }

    @Test
    void aRecordWithoutAValueIsRefusedByTheNameOfItsComponent() {
        String component = "no value for the component text of " + Unknown.class.getName() + ": ";
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RecordCodec.encode(new Unknown(null)))
                .withMessage(component + "it is null");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RecordCodec.encode(new Unknown(new StringBuilder())))
                .withMessage(component + "java.lang.StringBuilder has none");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> RecordCodec.decode(Value.dict().put("text", "").build(), Unknown.class))
                .withMessage("no value is a java.lang.StringBuilder, which the entry text is");
        record WithNull(List<String> names) {}
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RecordCodec.encode(new WithNull(java.util.Arrays.asList("a", null))))
                .withMessageContaining("the component names of");
    }

    @Test
    void theFieldsOfABodyAreTheEntriesOfADict() {
        Request request = Request.operation("shop", "order.place");
        request.body().fields(new Line("tea", 2));
        Request same = Request.operation("shop", "order.place");
        same.body().text("article", "tea").int64("count", 2);
        assertThat(request.payloadLength()).isEqualTo(same.payloadLength());
        assertThat(java.util.Arrays.copyOf(request.payloadArray(), request.payloadLength()))
                .isEqualTo(java.util.Arrays.copyOf(same.payloadArray(), same.payloadLength()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> request.body().fields(new Value.Dict(Map.of(Value.of(1), Value.NONE))))
                .withMessageContaining("a field's name is a text, and this key is");
    }
}
