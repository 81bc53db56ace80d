package io.waybill.salvage;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.salvage.DamagedFile.Position;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observation;
import io.waybill.wire.Observation.Kind;
import io.waybill.wire.Observations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/** A home in which a caller sent one request of each type, and a callee responded to it, with one response of each type among the responses. */
final class EveryType {

    private static final int CALLER = 3;
    private static final int CALLEE = 4;
    private static final int SECTION_BYTES = 200;
    private static final byte[] REFERENCES = {7, 7, 1, 0, 0, 0, 10, 0, 0, 0};
    private static final byte[] OBSERVED =
            new Observations(List.of(new Observation(Kind.TIME, 7), new Observation(Kind.SEED, 8)), false).encode();

    private static final long SPAN = 0x4444;
    private static final CallContext CONTEXT = CallContext.EMPTY
            .with("a", "one")
            .with("bb", new byte[] {-1, 0})
            .with(new TraceContext(0x1111, 0x2222, 0x3333, 1, "v=1"));

    private final Home home;
    private final Path caller;
    private final Path callee;

    EveryType(Path path) throws IOException {
        this(path, number -> SECTION_BYTES);
    }

    /** @param sectionBytes length of the tensor section of the record of a number, if it has one */
    EveryType(Path path, IntUnaryOperator sectionBytes) throws IOException {
        home = Home.open(path, WrittenQueue.HOST, settings().roll().name());
        caller = join("caller", CALLER);
        callee = join("callee", CALLEE);
        List<MessageType> requests = types(MessageType.REQUEST_FLAG);
        List<MessageType> responses = types(MessageType.RESPONSE_FLAG);
        try (WrittenQueue asked = WrittenQueue.open(JournalQueue.REQUESTS.in(caller), settings());
                WrittenQueue responded = WrittenQueue.open(JournalQueue.RESPONSES.in(callee), settings())) {
            for (int i = 0; i < Math.max(requests.size(), responses.size()) + 3; i++) {
                long id = MessageId.of(CALLER, i);
                asked.append(record(requests.get(i % requests.size()), id, CALLER, CALLEE, i, sectionBytes));
                responded.append(record(responses.get(i % responses.size()), id, CALLEE, CALLER, i, sectionBytes));
            }
        }
    }

    /** Of the cycle whose lists are the shortest. */
    static JournalSettings settings() {
        return WrittenQueue.settings().withRoll(Roll.FIVE_MINUTELY);
    }

    private Path join(String name, int id) throws IOException {
        try (WorkerDirectory directory = home.join(name, JoinOptions.defaults().withId(id))) {
            return directory.path();
        }
    }

    private static List<MessageType> types(int flag) {
        List<MessageType> types = new ArrayList<>();
        for (int code = flag; code < flag + 0x100; code++) {
            boolean isMany = (code & 0xff) > MessageType.FIRST_USER_KIND && (code & 0xff) < MessageType.LAST_USER_KIND;
            if (MessageType.isKnown(code) && !isMany) {
                types.add(MessageType.of(code));
            }
        }
        return types;
    }

    /** Every third has tensors, every fourth references, and every fifth observations if it is a response, or a context. */
    private static MessageBuffer record(
            MessageType type, long id, int from, int to, int number, IntUnaryOperator sectionBytes) {
        byte[] values = WrittenQueue.payloadOf(id);
        boolean observed = type.isResponse() && number % 5 == 1;
        CallContext context = type.isRequest() && number % 5 == 1 ? CONTEXT : CallContext.EMPTY;
        byte[] payload = joined(values, observed ? OBSERVED : new byte[MessageBuffer.contextLength(context)]);
        if (number % 4 == 1) {
            payload = joined(payload, REFERENCES);
        }
        int section = number % 3 == 2 ? sectionBytes.applyAsInt(number) : 0;
        MessageBuffer record = new MessageBuffer()
                .begin(type, id, from, to, payload.length, section)
                .sentNs(WrittenQueue.HOST.clock().wallNs())
                .flags((number % 4 == 1 ? Envelope.REFERENCES : 0) | (observed ? Envelope.OBSERVATIONS : 0))
                .payload(payload, 0, payload.length)
                .tensorCount(section > 0 ? 1 : 0);
        if (!context.isEmpty()) {
            record.context(context, SPAN, values.length);
        }
        if (section > 0) {
            record.memory().setMemory(Envelope.sectionOffset(payload.length), section, (byte) number);
        }
        return type == MessageType.EXCEPTION ? record.error(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED) : record;
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    Home home() {
        return home;
    }

    /** The queue of the two that has such records. */
    Path queue(JournalQueue queue) {
        return queue.in(queue == JournalQueue.REQUESTS ? caller : callee);
    }

    /** The one file of a queue. */
    static Path file(Path queue) throws IOException {
        try (var files = Files.list(queue)) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Where each record lies in it. */
    static Map<Long, Position> positions(Path queue) throws IOException {
        Map<Long, Position> positions = new TreeMap<>();
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), settings())) {
            while (reader.next() == Step.RECORD) {
                long from = reader.offset();
                positions.put(
                        reader.record().sequence(),
                        new Position(
                                from,
                                from + Integer.BYTES + reader.record().buffer().length()));
            }
        }
        return positions;
    }
}
