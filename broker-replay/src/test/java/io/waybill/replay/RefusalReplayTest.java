package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Refusals of handlers and interceptors, with each code and in each way: they are theirs, whatever the broker refuses with, too. */
@Timeout(120)
class RefusalReplayTest {

    /** What a bundle refuses with. */
    private static final class OwnRefusal extends RejectedMessageException {
        private static final long serialVersionUID = 1L;
        private final ErrorCode own;

        OwnRefusal(ErrorCode code) {
            super(ErrorCode.REFUSED, "own refusal with " + code);
            own = code;
        }

        @Override
        public ErrorCode code() {
            return own;
        }
    }

    /** What a bundle throws. */
    private static final class OwnFailure extends CallException {
        private static final long serialVersionUID = 1L;

        OwnFailure(ErrorCode code) {
            super(ErrorKind.TIMEOUT, code, MessageId.NONE, "own failure with " + code);
        }
    }

    private static final class Guard implements HandlerInterceptor {
        @Override
        public void before(InterceptedMessage message, Outbox outbox) throws RejectedMessageException {
            throw new RejectedMessageException(code(message.payload()), "not before");
        }

        @Override
        public void after(HandledMessage outcome) {
            // nothing
        }
    }

    @TempDir
    private Path directory;

    /** The code, whose name is the end of each payload. */
    private static ErrorCode code(ByteBuffer payload) {
        String text = java.nio.charset.StandardCharsets.ISO_8859_1
                .decode(payload.duplicate())
                .toString();
        return List.of(ErrorCode.values()).stream()
                .filter(each -> text.contains("<" + each + ">"))
                .findFirst()
                .orElseThrow();
    }

    private static ErrorCode code(Message message) {
        return code(message.payload());
    }

    private static ReplayScenario scenario() {
        return new ReplayScenario()
                .handles("b", "refuse.plainly", (message, outbox) -> {
                    throw new RejectedMessageException(code(message), "refusal with " + code(message));
                })
                .handles("b", "refuse.own", (message, outbox) -> {
                    throw new OwnRefusal(code(message));
                })
                .handles("b", "refuse.throw", (message, outbox) -> {
                    throw new OwnFailure(code(message));
                })
                .handles("b", "refuse.late", (message, outbox) -> outbox.later().fail(code(message), "too bad"))
                .handles(
                        "b",
                        "refuse.timeout",
                        (message, outbox) -> outbox.later().fail(code(message), ErrorKind.TIMEOUT.encode("too late")))
                .handles(
                        "b",
                        "refuse.intended",
                        (message, outbox) ->
                                outbox.later().fail(code(message), ErrorKind.INTENTIONAL_FAILURE.encode("on purpose")))
                .handles(
                        "b",
                        "refuse.within",
                        (message, outbox) -> outbox.dispatch(
                                        MessageType.userRequest(0x41 + 1), message.payload(), List.of(), List.of())
                                .close())
                .handles("b", "0x142", (message, outbox) -> {
                    throw new OwnRefusal(code(message));
                })
                .handles("b", "guarded.any", (message, outbox) -> outbox.respond(Value.of(1)))
                .interceptsHandlers("b", "guarded.*", new Guard());
    }

    private static int refuse(Worker caller, String operation, ErrorCode code) {
        Request request = Request.operation("b", operation).timeout(Duration.ofSeconds(20));
        request.body().text("code", "<" + code + ">");
        try {
            caller.call(request).close();
            return 0;
        } catch (CallException e) {
            return 1;
        }
    }

    private static List<String> notSame(Replay replay) throws IOException {
        List<String> shown = new ArrayList<>();
        replay.run(call -> {
            for (ReplayedCall.Result result : call.results()) {
                if (result.verdict() != Verdict.SAME) {
                    shown.add(call.operation() + " " + result.verdict() + " " + result.reason());
                }
            }
        });
        return shown;
    }

    private static final List<String> WAYS = List.of(
            "refuse.plainly",
            "refuse.own",
            "refuse.throw",
            "refuse.late",
            "refuse.timeout",
            "refuse.intended",
            "refuse.within",
            "guarded.any");

    private Path recorded() throws Exception {
        return scenario().record(directory, caller -> {
            int refused = 0;
            for (ErrorCode code : ErrorCode.values()) {
                for (String way : WAYS) {
                    refused += refuse(caller, way, code);
                }
            }
            assertThat(refused).as("refused calls").isEqualTo(WAYS.size() * ErrorCode.values().length);
        });
    }

    @Test
    void areTheSameAgain() throws Exception {
        List<String> notSame = notSame(scenario().replay(recorded()));
        assertThat(new TreeSet<>(notSame))
                .as("refusals after which a handler may hang")
                .allMatch(line -> line.contains("the broker responded to it, and no handler: HANDLER_GONE")
                        || line.contains("the broker responded to it, and no handler: HANDLER_STUCK"));
    }

    @Test
    void areNotComparedIfTheyMayBeTheBrokers() throws Exception {
        ReplayScenario accepting =
                new ReplayScenario().handles("b", "refuse.*", (message, outbox) -> outbox.respond(Value.of(1)));
        List<String> notSame = notSame(accepting.replay(recorded()));
        assertThat(notSame)
                .anyMatch(
                        line -> line.startsWith(
                                "refuse.plainly NOT_REPLAYABLE the broker may have responded to it,"
                                        + " and not its handler: ACCESS_DENIED, Error on Node 0: refusal with ACCESS_DENIED; its response: recorded"));
        assertThat(notSame).anyMatch(line -> line.startsWith("refuse.plainly DIFFERENT recorded the error REFUSED"));
    }
}
