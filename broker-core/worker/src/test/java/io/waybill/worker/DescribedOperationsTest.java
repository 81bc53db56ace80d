package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.DescribesField;
import io.waybill.api.handler.DescribesOperation;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import io.waybill.api.handler.Outbox;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Descriptions of operations, from the handlers of programs to those who ask for them by a control call. */
@Timeout(120)
class DescribedOperationsTest {

    private static final OperationDescription TRIM = OperationDescription.of(
                    "text.trim", "Removes blanks at both ends.")
            .argument("text", FieldType.TEXT, "what is trimmed");

    @TempDir
    Path home;

    private Worker asking;
    private Admin admin;

    @BeforeEach
    void join() throws IOException {
        asking = Waybill.connect(home, "asking").join();
        admin = Admin.of(asking);
    }

    @AfterEach
    void leave() throws IOException {
        asking.close();
    }

    private static class Empty implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.response();
        }
    }

    @HandlesMessage({"text.count", "py.*", "0x142"})
    @DescribesOperation(
            name = "text.count",
            summary = "Counts the words of a text.",
            result = @DescribesField(name = "words", type = FieldType.INTEGER))
    @DescribesOperation(name = "py.run", summary = "Runs a program.")
    @DescribesOperation(name = "py.sum", summary = "Adds numbers.")
    private static final class Described extends Empty {}

    @HandlesMessage("text.count")
    @DescribesOperation(name = "text.cuont", summary = "Counts the words of a text.")
    private static final class OfAnotherKey extends Empty {}

    @HandlesMessage("text.count")
    @DescribesOperation(name = "text.count", summary = "Counts the words of a text.")
    @DescribesOperation(name = "text.count", summary = "Counts the words of a text again.")
    private static final class Twice extends Empty {}

    private static String shown(OperationInfo operation) {
        return operation.name() + ": "
                + operation.description().map(OperationDescription::summary).orElse("-");
    }

    @Test
    void areListedInTheOrderOfNamesWithTheOthers() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                .with(new Described())
                .with(TRIM, new Empty())
                .with("py.sum", new Empty()) // more specific than py.*, whose handler describes it
                .join()) {
            assertThat(admin.operations("server"))
                    .extracting(DescribedOperationsTest::shown)
                    .containsExactly(
                            "USER_0X42_CALL: -",
                            "py.*: -",
                            "py.run: Runs a program.",
                            "py.sum: -",
                            "text.count: Counts the words of a text.",
                            "text.trim: Removes blanks at both ends.");
            assertThat(admin.operation("server", "text.trim").orElseThrow())
                    .isEqualTo(new OperationInfo("text.trim", Empty.class.getName(), "(program)", Optional.of(TRIM)));
            assertThat(admin.operation("server", "py.run"))
                    .map(DescribedOperationsTest::shown)
                    .hasValue("py.run: Runs a program.");
            assertThat(admin.operation("server", "py.other"))
                    .map(DescribedOperationsTest::shown)
                    .hasValue("py.other: -");
            assertThat(admin.operation("server", "text.cuont")).isEmpty();
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> admin.operation("server", "count"))
                    .matches(e -> e.code() == ErrorCode.REFUSED)
                    .withMessageContaining("a name with a dot");
            for (String field : List.of("name", "after")) {
                Invocation wrong = new Invocation("operations.list", List.of(), Map.of(field, Value.of(1)));
                assertThatExceptionOfType(CallException.class)
                        .isThrownBy(() -> asking.call(Request.invocation("server", MessageType.CONTROL_CALL, wrong)))
                        .matches(e -> e.code() == ErrorCode.MALFORMED_BODY)
                        .withMessageContaining(field);
            }
            try (Response response = server.call(Request.operation("server", "text.trim"))) {
                assertThat(response.value())
                        .as("of a call without the described argument, which the handler accepts")
                        .isNotNull();
            }
        }
    }

    @Test
    void ofTheClassAreUsedForAKeyThatCodeNames() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                .with("text.count", new Described())
                .join()) {
            assertThat(admin.operations(server.info().name()))
                    .extracting(DescribedOperationsTest::shown)
                    .containsExactly("text.count: Counts the words of a text.");
        }
    }

    @Test
    void thatFillSeveralMessagesAreAllListed() throws IOException {
        String sentence = "x".repeat(OperationDescription.MAX_TEXT_CHARS);
        List<OperationDescription> all = IntStream.range(0, 300)
                .mapToObj(i -> full(String.format(Locale.ROOT, "big.o%03d", i), sentence))
                .toList();
        Waybill program = Waybill.connect(home, "server");
        all.forEach(each -> program.with(each, new Empty()));
        try (Worker server = program.join()) {
            assertThat(admin.operations(server.info().name()))
                    .extracting(each -> each.description().orElseThrow())
                    .containsExactlyElementsOf(all);
        }
    }

    private static OperationDescription full(String name, String text) {
        List<OperationDescription.Field> fields = IntStream.range(0, OperationDescription.MAX_FIELDS)
                .mapToObj(i -> new OperationDescription.Field("field" + i, FieldType.TEXT, false, text))
                .toList();
        return new OperationDescription(name, text, fields, fields);
    }

    /** An asking worker whose control calls are responded to by an operation of the server. */
    private Admin redirectedTo(String operation) {
        Caller caller = new Caller() {
            @Override
            public Response call(Request request) {
                return asking.call(Request.operation(request.to(), operation));
            }

            @Override
            public CompletableFuture<Response> callAsync(Request request) {
                throw new UnsupportedOperationException();
            }

            @Override
            public long call(Request request, ResponseListener listener) {
                throw new UnsupportedOperationException();
            }
        };
        return Admin.of(caller);
    }

    /** A response to operations.list, as a worker may send it that is not this broker's. */
    private static MessageHandler listing(String summary) {
        Value description = new Value.Dict(Map.of(
                Value.of("name"),
                Value.of("a.b"),
                Value.of("summary"),
                Value.of(summary),
                Value.of("arguments"),
                new Value.Items(List.of()),
                Value.of("result"),
                new Value.Items(List.of())));
        Value operation = new Value.Dict(Map.of(
                Value.of("name"), Value.of("a.b"),
                Value.of("provider"), Value.of("p"),
                Value.of("version"), Value.of("1"),
                Value.of("description"), description));
        return (message, outbox) -> outbox.response()
                .value("operations", new Value.Items(List.of(operation)))
                .bool("more", true);
    }

    @Test
    void areReadWithinTheirLimitsWhateverAWorkerResponds() throws IOException {
        try (Worker server = Waybill.connect(home, "server")
                .with("odd.endless", listing("Says that more follow, and repeats itself."))
                .with("odd.large", listing("x".repeat(OperationDescription.MAX_TEXT_CHARS + 1)))
                .join()) {
            String name = server.info().name();
            assertThat(redirectedTo("odd.endless").operations(name))
                    .as("the list, which ends where it does not go on")
                    .hasSize(2);
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> redirectedTo("odd.large").operations(name))
                    .matches(e -> e.code() == ErrorCode.MALFORMED_BODY)
                    .withMessageContaining("operations[0].description")
                    .withMessageContaining("the summary has 1 to 200 chars");
        }
    }

    @Test
    void ofAnotherKeyOrGivenTwiceRefuseTheJoin() throws IOException {
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        Waybill.connect(home, "server").with(new OfAnotherKey()).join())
                .withMessage("the description of operation text.cuont: expected a key of its handler, which takes"
                        + " [text.count]");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Waybill.connect(home, "server").with(new Twice()).join())
                .withMessage("a handler describes the operation text.count twice");
        try (Worker server = Waybill.connect(home, "server").join();
                Response response = asking.call(Request.operation("server", "x.y"))) {
            throw new AssertionError(server.info() + " responds: " + response);
        } catch (CallException e) {
            assertThat(e.code()).as("the name is free again").isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        }
    }
}
