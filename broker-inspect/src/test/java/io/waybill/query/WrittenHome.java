package io.waybill.query;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A home with the journals of a caller, id 3, and a callee, id 4, as workers leave them. */
final class WrittenHome {

    static final int CALLER = 3;
    static final int CALLEE = 4;
    static final long START_NS = 1_700_000_000_000_000_000L;

    final Home home;
    private final MessageBuffer buffer = new MessageBuffer();

    WrittenHome(Path path) throws IOException {
        home = Home.open(
                path.resolve("home"),
                WrittenQueue.HOST,
                WrittenQueue.settings().roll().name());
        join("caller", CALLER);
        join("callee", CALLEE);
    }

    private void join(String name, int id) throws IOException {
        try (WorkerDirectory directory = home.join(name, JoinOptions.defaults().withId(id))) {
            directory.subdirectory("requests");
            directory.subdirectory("responses");
        }
    }

    Path worker(int id) {
        return home.workersPath().resolve(id == CALLER ? "3-caller" : "4-callee");
    }

    /** Calls of {@code text.count}: every seventh fails, every tenth has no response. */
    WrittenHome calls(long first, long end) {
        try (WrittenQueue requests = WrittenQueue.open(worker(CALLER), JournalQueue.REQUESTS);
                WrittenQueue responses = WrittenQueue.open(worker(CALLEE), JournalQueue.RESPONSES)) {
            for (long counter = first; counter < end; counter++) {
                long id = MessageId.of(CALLER, counter);
                requests.append(request(id, CALLER, CALLEE, counter % 2 == 0 ? "text.count" : "text.length", counter));
                if (counter % 10 != 9) {
                    responses.append(counter % 7 == 6 ? error(id, counter) : result(id, counter));
                }
            }
        }
        return this;
    }

    MessageBuffer request(long id, int from, int to, String operation, long counter) {
        ValueEncoder encoder = new ValueEncoder();
        new Invocation(operation, List.of(Value.of(counter)), Map.of("text", Value.of("a\u001b[31m" + counter)))
                .encode(encoder);
        return message(MessageType.NAMED_CALL, id, from, to, encoder.toBytes()).sentNs(START_NS + 1000 * counter);
    }

    MessageBuffer control(long id, String operation, String path) {
        Invocation call = new Invocation(operation, List.of(), Map.of("path", Value.of(path)));
        return request(id, MessageType.CONTROL_CALL, call);
    }

    MessageBuffer request(long id, MessageType type, Invocation call) {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        return message(type, id, CALLER, CALLEE, encoder.toBytes()).sentNs(START_NS + 1_000_000);
    }

    private MessageBuffer result(long id, long counter) {
        ValueEncoder encoder = new ValueEncoder();
        encoder.value(Value.of(2 * counter));
        return message(MessageType.NAMED_RET, id, CALLEE, CALLER, encoder.toBytes())
                .sentNs(START_NS + 1000 * counter + 500);
    }

    private MessageBuffer error(long id, long counter) {
        byte[] text = "Error on Node 4: no".getBytes(StandardCharsets.UTF_8);
        return message(MessageType.EXCEPTION, id, CALLEE, CALLER, text)
                .sentNs(START_NS + 1000 * counter + 500)
                .error(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED);
    }

    private MessageBuffer message(MessageType type, long id, int from, int to, byte[] payload) {
        return buffer.begin(type, id, from, to, payload.length, 0).payload(payload, 0, payload.length);
    }

    /** The one file of a queue. */
    Path file(int worker, JournalQueue queue) throws IOException {
        try (Stream<Path> files = Files.list(queue.in(worker(worker)))) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
    }
}
