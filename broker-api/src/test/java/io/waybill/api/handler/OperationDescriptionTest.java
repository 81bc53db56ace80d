package io.waybill.api.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.RRef;
import io.waybill.api.RecordCodec;
import io.waybill.api.Value;
import io.waybill.api.handler.OperationDescription.Field;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Descriptions that authors write, and the bounds of those that are read from elsewhere. */
class OperationDescriptionTest {

    private enum Kind {
        PLAIN
    }

    private record Line(long count) {}

    /** Has a component of each type that has a value. */
    private record Everything(
            @FieldText("what is counted") String text,
            Kind kind,
            int small,
            Long large,
            Instant at,
            double real,
            Boolean flag,
            byte[] bytes,
            List<Line> lines,
            Map<String, Long> counts,
            Line line,
            Optional<String> language,
            Tensor tensor,
            Device device,
            DType type,
            RRef reference,
            Value value) {}

    @DescribesOperation(
            name = "text.count",
            summary = "Counts the words of a text.",
            arguments = @DescribesField(name = "text", type = FieldType.TEXT, text = "what is counted"),
            result = {
                @DescribesField(name = "words", type = FieldType.INTEGER),
                @DescribesField(name = "language", type = FieldType.TEXT, optional = true)
            })
    @DescribesOperation(name = "text.all", summary = "Takes everything.", argumentsOf = Everything.class)
    private static class Described {}

    private static final class Subclass extends Described {}

    @DescribesOperation(
            name = "text.count",
            summary = "Counts.",
            arguments = @DescribesField(name = "text", type = FieldType.TEXT),
            argumentsOf = Everything.class)
    private static final class Twice {}

    @Test
    void isReadFromTheAnnotationsOfAClass() {
        List<OperationDescription> declared = OperationDescription.declaredBy(Described.class);

        assertThat(declared.get(0))
                .isEqualTo(OperationDescription.of("text.count", "Counts the words of a text.")
                        .argument("text", FieldType.TEXT, "what is counted")
                        .result("words", FieldType.INTEGER, "")
                        .optionalResult("language", FieldType.TEXT, ""));
        assertThat(declared.get(1))
                .isEqualTo(
                        OperationDescription.of("text.all", "Takes everything.").arguments(Everything.class));
        assertThat(OperationDescription.declaredBy(Subclass.class))
                .as("a subclass, which may handle something else")
                .isEmpty();
    }

    @Test
    void takesTheComponentsOfARecordAsTheyTravel() {
        OperationDescription described =
                OperationDescription.of("text.all", "Takes everything.").arguments(Everything.class);

        assertThat(described.arguments().get(0)).isEqualTo(new Field("text", FieldType.TEXT, false, "what is counted"));
        assertThat(described.arguments())
                .extracting(Field::type)
                .containsExactly(
                        FieldType.TEXT,
                        FieldType.TEXT,
                        FieldType.INTEGER,
                        FieldType.INTEGER,
                        FieldType.INTEGER,
                        FieldType.REAL,
                        FieldType.BOOLEAN,
                        FieldType.BYTES,
                        FieldType.LIST,
                        FieldType.DICT,
                        FieldType.DICT,
                        FieldType.TEXT,
                        FieldType.TENSOR,
                        FieldType.ANY,
                        FieldType.ANY,
                        FieldType.ANY,
                        FieldType.ANY);
        assertThat(described.arguments().stream().filter(Field::optional))
                .extracting(Field::name)
                .containsExactly("language");
    }

    @Test
    void survivesTheWayToItsReader() {
        OperationDescription described =
                OperationDescription.declaredBy(Described.class).get(0);

        assertThat(RecordCodec.decode(RecordCodec.encode(described), OperationDescription.class))
                .isEqualTo(described);
    }

    @Test
    void namesTheOperationWhoseAnnotationIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> OperationDescription.declaredBy(Twice.class))
                .withMessage("the description of operation text.count: two of its arguments are named text");
    }

    @ParameterizedTest
    @ValueSource(strings = {"two\nlines", "\u001b[2J", "half \ud83d a pair", "half \ude00", "end \ud83d", "\u0085"})
    void refusesTextThatIsNotOneLine(String text) {
        OperationDescription of = OperationDescription.of("text.count", "Counts \ud83d\ude00.");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> OperationDescription.of("text.count", text))
                .withMessageMatching(
                        "the summary is one line of text, and this one has the char 0x[0-9a-f]{4} at \\d+");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> of.argument("a", FieldType.TEXT, text))
                .withMessageStartingWith("the text of a is one line of text");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> of.result(text, FieldType.TEXT, ""))
                .withMessageStartingWith("the name of a field is one line of text");
    }

    @Test
    void refusesWhatIsTooLongOrMissing() {
        String full = "x".repeat(OperationDescription.MAX_TEXT_CHARS);
        OperationDescription of = OperationDescription.of("text.count", full).argument("a", FieldType.TEXT, full);

        Stream.<Runnable>of(
                        () -> OperationDescription.of("text.count", full + "x"),
                        () -> OperationDescription.of("text.count", ""),
                        () -> OperationDescription.of("text.count", null),
                        () -> OperationDescription.of("", "Counts."),
                        () -> OperationDescription.of("é".repeat(200), "Counts."),
                        () -> of.argument("b", FieldType.TEXT, full + "x"),
                        () -> of.argument("b", FieldType.TEXT, null),
                        () -> of.argument("b", null, ""),
                        () -> of.argument("x".repeat(OperationDescription.MAX_FIELD_NAME_CHARS + 1), FieldType.ANY, ""),
                        () -> of.argument("", FieldType.TEXT, ""))
                .forEach(each -> assertThatIllegalArgumentException().isThrownBy(each::run));
    }

    @Test
    void refusesTooManyFields() {
        List<Field> most = IntStream.range(0, OperationDescription.MAX_FIELDS)
                .mapToObj(i -> new Field("f" + i, FieldType.ANY, false, ""))
                .toList();
        OperationDescription full = new OperationDescription("text.count", "Counts.", most, most);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> full.optionalArgument("more", FieldType.ANY, ""))
                .withMessage("it has at most 64 arguments, and 65 are given");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> full.result("more", FieldType.ANY, ""))
                .withMessage("it has at most 64 result fields, and 65 are given");
    }
}
