package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import io.waybill.worker.publish.PublishingRoom;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** References of messages that are not sent, because an error came before: no fork of them is left, which would keep their values until the worker ends. */
@Timeout(180)
class UnsentReferencesTest {

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker server;
    private Worker caller;

    /** A tensor whose bytes can't be read, which is when the record is composed. */
    private static Tensor unreadable() {
        return PublishingRoom.tensorThat(() -> {
            throw new StackOverflowError("planted");
        });
    }

    @BeforeEach
    void join() throws Exception {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "test.unsent", (message, outbox) -> {
            try (RRef own = outbox.rpc().rref(Value.of(7))) {
                outbox.response().value("r", Value.of(own)).tensor("t", unreadable());
            }
        });
        server = workers.join("server", handlers);
        caller = workers.join("caller");
    }

    @AfterEach
    void close() throws Exception {
        workers.close();
    }

    private static void assertNothingIsLeft(Worker owner) {
        Waits.until(
                () -> "no reference is left: " + Workers.references(owner).counters(),
                () -> Workers.references(owner).counters().isClean());
    }

    @Test
    void ofARequest() {
        try (RRef own = caller.rpc().rref(Value.of(7))) {
            Request request = Request.operation("server", "test.unsent");
            request.body().value("r", Value.of(own)).tensor("t", unreadable());
            assertThatThrownBy(() -> caller.call(request)).isInstanceOf(StackOverflowError.class);
        }
        assertNothingIsLeft(caller);
    }

    @Test
    void ofAResponse() {
        assertThatThrownBy(() -> caller.call(Request.operation("server", "test.unsent")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_FAILED));
        assertNothingIsLeft(server);
    }

    /** An error comes between two references: the value that the request is to create can't be named. */
    @Test
    void ofARequestThatCreatesAValue() {
        assertThatThrownBy(() -> caller.call(Request.operation("server", "test.unsent")))
                .isInstanceOf(CallException.class); // they are linked from here on
        try (RRef own = caller.rpc().rref(Value.of(7))) {
            assertThatThrownBy(() -> SentReferences.of(List.of(own, own), Workers.linkTo(caller, "server"), owner -> {
                        throw new StackOverflowError("planted");
                    }))
                    .isInstanceOf(StackOverflowError.class);
        }
        assertNothingIsLeft(caller);
    }
}
