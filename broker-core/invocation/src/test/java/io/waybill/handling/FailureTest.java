package io.waybill.handling;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.RejectedMessageException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which failed call caused the error of a handler. */
@Timeout(60)
class FailureTest {

    private static final CallException LOST =
            new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.WORKER_LOST, 77, "worker stock is dead");

    private static void assertRoot(Failure failure, ErrorCode code, long id) {
        assertThat(failure.root()).isEqualTo(new Failure.Root(code, id));
        CallException seen = failure.toException(5);
        assertThat(seen.messageId()).isEqualTo(5);
        assertThat(seen.code()).isEqualTo(failure.code());
        assertThat(seen.rootCode()).isEqualTo(code);
        assertThat(seen.rootMessageId()).isEqualTo(id);
    }

    @Test
    void isFoundAmongCauses() {
        assertRoot(Failure.threw(1, LOST), ErrorCode.WORKER_LOST, 77);
        assertRoot(Failure.threw(1, new CompletionException(LOST)), ErrorCode.WORKER_LOST, 77);
        assertRoot(
                Failure.threw(1, new IllegalStateException("wrapped", new RuntimeException(LOST))),
                ErrorCode.WORKER_LOST,
                77);
        assertRoot(
                Failure.rejected(1, new RejectedMessageException(ErrorCode.REFUSED, "no stock", LOST)),
                ErrorCode.WORKER_LOST,
                77);
        assertRoot(Failure.late(ErrorCode.REFUSED, "no stock", LOST), ErrorCode.WORKER_LOST, 77);
    }

    @Test
    void isTheInnermostOne() {
        CallException inner = Failure.threw(2, LOST).toException(78);
        CallException outer = Failure.threw(3, new CompletionException(inner)).toException(79);
        assertThat(outer.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        assertRoot(Failure.threw(4, outer), ErrorCode.WORKER_LOST, 77);
    }

    @Test
    void isTheCallItselfWithoutAnother() {
        CallException failed =
                Failure.threw(1, new IllegalStateException("a bug")).toException(5);
        assertThat(failed.rootCode()).isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(failed.rootMessageId()).isEqualTo(5);
    }

    /** Exceptions are of bundles, whose code may do anything. */
    @Test
    void isSearchedInAFewCausesAlone() {
        RuntimeException ring = new RuntimeException("a");
        ring.initCause(new RuntimeException("b", ring));
        assertThat(Failure.threw(1, ring).root().isThere()).isFalse();
        RuntimeException throwing = new RuntimeException("c") {
            private static final long serialVersionUID = 1L;

            @Override
            public synchronized Throwable getCause() {
                throw new IllegalStateException("planted");
            }
        };
        assertThat(Failure.threw(1, throwing).root().isThere()).isFalse();
    }
}
