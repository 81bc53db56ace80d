package io.waybill.system;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.Contacts;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.host.failure.MappedFaults;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.queue.rollcycles.LegacyRollCycles;
import net.openhft.chronicle.wire.DocumentContext;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A worker that lives and whose queues hold whatever the test puts into them, each in one file. */
final class RawWorker implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(RawWorker.class);

    private final WorkerDirectory directory;
    private final ChronicleQueue requests;
    private final ChronicleQueue responses;
    private final ExcerptAppender requestAppender;
    private final ExcerptAppender responseAppender;
    private final long begunMs = System.currentTimeMillis();
    private long counter;

    RawWorker(Home home, String name) throws IOException {
        directory = home.join(name);
        requests = queue("requests");
        responses = queue("responses");
        requestAppender = begin(requests);
        responseAppender = begin(responses);
        directory.subdirectory("segments");
    }

    /** Sees to it that the file is there. */
    private static ExcerptAppender begin(ChronicleQueue queue) {
        ExcerptAppender appender = queue.createAppender();
        appender.singleThreadedCheckDisabled(true); // a test's thread may not be the one that made this
        try (DocumentContext document = appender.writingDocument()) {
            document.rollbackOnClose();
        }
        return appender;
    }

    private ChronicleQueue queue(String name) throws IOException {
        return SingleChronicleQueueBuilder.binary(directory.subdirectory(name))
                .rollCycle(LegacyRollCycles.MINUTELY)
                .blockSize(4 << 20)
                .timeProvider(() -> begunMs) // all in one file, however long the test takes
                .build();
    }

    RawWorker publish() throws IOException {
        directory.publish(WorkerState.READY, List.of(), Map.of());
        return this;
    }

    int id() {
        return directory.id();
    }

    Path path() {
        return directory.path();
    }

    /** Announces itself to a worker as one that is about to call it. */
    RawWorker contact(int peer) throws IOException {
        directory.cursors().slot(peer);
        try (Membership membership = new Membership(directory.home())) {
            membership.refresh();
            Contacts.announce(
                    membership.members().find(peer).orElseThrow(),
                    id(),
                    directory.home().host().files());
        }
        return this;
    }

    /** Writes a good request to a worker that it has contacted, and announces it. */
    void announce(int to) throws IOException {
        write(request(to));
        directory.cursors().slot(to).announce();
    }

    /** A good request to the first life of a worker, with the next id. */
    MessageBuffer request(int to) {
        byte[] payload = new byte[64];
        return new MessageBuffer()
                .begin(MessageType.userRequest(0x42), MessageId.of(id(), counter++), id(), to, payload.length, 0)
                .flags(0)
                .sentNs(System.currentTimeMillis() * 1_000_000)
                .epoch(1)
                .payload(payload, 0, payload.length);
    }

    /** A good response. */
    MessageBuffer response(long requestId, int to) {
        byte[] payload = new byte[64];
        return new MessageBuffer()
                .begin(MessageType.of(0x242), requestId, id(), to, payload.length, 0)
                .flags(0)
                .sentNs(System.currentTimeMillis() * 1_000_000)
                .payload(payload, 0, payload.length);
    }

    /** Changes a record before its checksum is made: what a wrong or hostile writer would write. */
    static MessageBuffer lying(MessageBuffer record, Consumer<UnsafeBuffer> change) {
        change.accept(record.memory());
        return record;
    }

    void write(MessageBuffer record) {
        record.seal(0);
        append(requestAppender, record, record.length());
    }

    void response(MessageBuffer record) {
        record.seal(0);
        append(responseAppender, record, record.length());
    }

    /** Appends a record that was changed after its checksum was made. */
    void writeBroken(MessageBuffer record, Consumer<UnsafeBuffer> change) {
        record.seal(0);
        change.accept(record.memory());
        append(requestAppender, record, record.length());
    }

    void respondBroken(MessageBuffer record, Consumer<UnsafeBuffer> change) {
        record.seal(0);
        change.accept(record.memory());
        append(responseAppender, record, record.length());
    }

    /** Appends a document that is shorter or longer than the record in it. */
    void writeCut(MessageBuffer record, int length) {
        record.seal(0);
        append(requestAppender, record, length);
    }

    private static void append(ExcerptAppender appender, MessageBuffer record, int length) {
        byte[] bytes = new byte[length];
        record.memory().getBytes(0, bytes, 0, Math.min(length, record.memory().capacity()));
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(bytes);
        }
    }

    static Consumer<UnsafeBuffer> setInt(int offset, int value) {
        return memory -> memory.putInt(offset, value, ByteOrder.LITTLE_ENDIAN);
    }

    static Consumer<UnsafeBuffer> setShort(int offset, int value) {
        return memory -> memory.putShort(offset, (short) value, ByteOrder.LITTLE_ENDIAN);
    }

    static Consumer<UnsafeBuffer> flip(int offset) {
        return memory -> memory.putByte(offset, (byte) (memory.getByte(offset) ^ 0x10));
    }

    /** Where a sealed record's payload begins. */
    static int payloadAt() {
        return Envelope.HEADER_LENGTH;
    }

    @Override
    public void close() {
        requestAppender.close();
        responseAppender.close();
        requests.close();
        responses.close();
        try {
            directory.close();
            MappedFaults.surface();
        } catch (IOException | InternalError e) {
            LOG.info("The raw worker could not leave what the test made of its files: {}", e.toString());
        }
    }
}
