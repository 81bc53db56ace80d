package io.waybill.crash.history;

import io.waybill.crash.history.Event.Kind;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/**
 * A history without a fault, of one caller and one server that were both killed once, whose parts a test may alter before it writes them.
 * Times are in ms since the beginning.
 *
 * <p>Calls of the caller's first life: 0 completed, 1 lost with the server's first life while its handler ran, to which the second one responds, 2 refused, 3 completed by the
 * second life, 4 completed when the caller had been killed, and claimed by its second life, 5 without a line in the log. Of its second: 0 completed, 1 timed out and completed
 * late, 2 failed.
 */
final class HandMadeHistory {

    static final int CALLER = 1;
    static final int SERVER = 2;
    static final int TYPE = 0x142;
    static final int SERIAL = 0x143;
    static final int AGAIN = 0x145;
    static final int EXCEPTION = 0x237;
    static final String FIRST_CALLER = "caller-1";
    static final String SECOND_CALLER = "caller-2";
    static final String FIRST_SERVER = "server-1";
    static final String SECOND_SERVER = "server-2";
    static final Expectations EXPECTED =
            new Expectations(Set.of(TYPE, SERIAL), Set.of(SERIAL), Set.of(AGAIN), Set.of(6, 2004, 4), false, false);

    private static final long MS = 1_000_000;

    /** A record that is not written yet. */
    static final class Doc {
        long sequence = -1; // its place
        long id;
        int from;
        int to;
        int type;
        long deadlineMs;
        int epoch;
        int error;
        long handlerSequence;
        int flags;
        byte[] payload;
        int flipAt = -1; // a byte of it to damage

        int digest() {
            return HandMadeHistory.digest(payload);
        }

        private byte[] bytes(long position) {
            ByteBuffer bytes = ByteBuffer.allocate(StoredMessage.HEADER_BYTES + payload.length)
                    .order(ByteOrder.LITTLE_ENDIAN);
            bytes.putShort(4, (short) 0x4257)
                    .put(6, (byte) 1)
                    .put(7, (byte) flags)
                    .putLong(8, sequence < 0 ? position : sequence);
            bytes.putLong(16, id).putShort(24, (short) from).putShort(26, (short) to);
            bytes.putShort(28, (short) type).putInt(32, payload.length).putLong(40, deadlineMs * MS);
            bytes.putLong(88, handlerSequence).putShort(98, (short) error).putInt(100, epoch);
            bytes.put(StoredMessage.HEADER_BYTES, payload);
            CRC32C crc = new CRC32C();
            crc.update(bytes.slice(4, bytes.capacity() - 4));
            bytes.putInt(0, (int) crc.getValue());
            if (flipAt >= 0) {
                bytes.put(flipAt, (byte) (bytes.get(flipAt) ^ 8));
            }
            return bytes.array();
        }
    }

    final List<Doc> requests = new ArrayList<>();
    final List<Doc> responses = new ArrayList<>();
    final Map<String, List<Event>> logs = new TreeMap<>();

    HandMadeHistory() {
        joined(FIRST_SERVER, SERVER, 1, 1);
        joined(FIRST_CALLER, CALLER, 1, 2);
        respondedCall(FIRST_CALLER, 0, 1, 10, FIRST_SERVER);
        Doc lost = request(FIRST_CALLER, 1, 1, 11);
        log(FIRST_SERVER, new Event(Kind.BEGUN, 0, lost.digest(), lost.id, 12 * MS, 0));
        failed(FIRST_CALLER, lost, 2004, 20);
        log(FIRST_CALLER, new Event(Kind.REFUSED, 2004, 0, 0, 21 * MS, 2));
        joined(SECOND_SERVER, SERVER, 2, 30);
        respondedCall(FIRST_CALLER, 3, 2, 40, SECOND_SERVER);
        Doc claimed = run(request(FIRST_CALLER, 4, 2, 41), SECOND_SERVER, 42);
        Doc unlogged = request(FIRST_CALLER, 5, 2, 43);
        events(FIRST_CALLER).remove(events(FIRST_CALLER).size() - 1);
        run(unlogged, SECOND_SERVER, 44);
        joined(SECOND_CALLER, CALLER, 2, 50);
        log(SECOND_CALLER, new Event(Kind.CLAIMED, 0, claimed.digest(), claimed.id, 50 * MS, 0));
        respondedCall(SECOND_CALLER, 0, 2, 51, SECOND_SERVER);
        Doc slow = request(SECOND_CALLER, 1, 2, 53);
        failed(SECOND_CALLER, slow, 6, slow.deadlineMs);
        run(slow, SECOND_SERVER, slow.deadlineMs);
        Doc bad = request(SECOND_CALLER, 2, 2, slow.deadlineMs + 1);
        responses.add(response(bad, EXCEPTION, 4));
        failed(SECOND_CALLER, bad, 4, slow.deadlineMs + 2);
        responses.add(response(lost, EXCEPTION, 2004));
        log(SECOND_CALLER, new Event(Kind.ENDED, 0, 0, 0, slow.deadlineMs + 10, 0));
        log(SECOND_SERVER, new Event(Kind.ENDED, 0, 0, 0, slow.deadlineMs + 11, 0));
    }

    private void joined(String incarnation, int worker, long epoch, long atMs) {
        log(incarnation, new Event(Kind.JOINED, 0, 0, worker, atMs * MS, epoch));
    }

    void log(String incarnation, Event event) {
        events(incarnation).add(event);
    }

    List<Event> events(String incarnation) {
        return logs.computeIfAbsent(incarnation, name -> new ArrayList<>());
    }

    /** The first event of a kind. */
    Event event(String incarnation, Kind kind) {
        return events(incarnation).stream()
                .filter(event -> event.kind() == kind)
                .findFirst()
                .orElseThrow();
    }

    void replace(String incarnation, Event old, Event by) {
        List<Event> events = events(incarnation);
        events.set(events.indexOf(old), by);
    }

    private Doc request(String caller, long number, int serverEpoch, long atMs) {
        Doc doc = new Doc();
        doc.id = (long) CALLER << 48 | requests.size() + 1;
        doc.from = CALLER;
        doc.to = SERVER;
        doc.type = TYPE;
        doc.deadlineMs = atMs + 100;
        doc.epoch = serverEpoch;
        doc.payload = ByteBuffer.allocate(24)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(caller.equals(FIRST_CALLER) ? 1 : 2)
                .putLong(number)
                .putLong(doc.id * 31)
                .array();
        requests.add(doc);
        log(caller, new Event(Kind.SENT, 100, doc.digest(), doc.id, atMs * MS, number));
        return doc;
    }

    Doc response(Doc request, int type, int error) {
        Doc doc = new Doc();
        doc.id = request.id;
        doc.from = SERVER;
        doc.to = CALLER;
        doc.type = type;
        doc.error = error;
        doc.payload = ("response to " + request.id).getBytes(StandardCharsets.US_ASCII);
        return doc;
    }

    private Doc run(Doc request, String server, long atMs) {
        Doc response = response(request, TYPE + 0x100, 0);
        log(server, new Event(Kind.BEGUN, 0, request.digest(), request.id, atMs * MS, 0));
        response.handlerSequence = responses.size() + 1;
        log(server, new Event(Kind.RESPONDED, 0, response.digest(), request.id, atMs * MS, 0));
        responses.add(response);
        return response;
    }

    private void respondedCall(String caller, long number, int serverEpoch, long atMs, String server) {
        Doc request = request(caller, number, serverEpoch, atMs);
        Doc response = run(request, server, atMs);
        log(caller, new Event(Kind.OK, 0, response.digest(), request.id, (atMs + 1) * MS, 0));
    }

    private void failed(String caller, Doc request, int code, long atMs) {
        log(caller, new Event(Kind.FAILED, code, 0, request.id, atMs * MS, 0));
    }

    static int digest(byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload);
        return (int) crc.getValue();
    }

    /** Writes it below a directory, and judges it. */
    Checker.Verdict judge(Path directory) throws IOException {
        Path workers = Files.createDirectories(directory.resolve("home/workers"));
        Path events = Files.createDirectories(directory.resolve("logs"));
        writeQueue(workers.resolve(CALLER + "-caller/requests"), requests);
        writeQueue(workers.resolve(SERVER + "-server/responses"), responses);
        for (Map.Entry<String, List<Event>> log : logs.entrySet()) {
            String[] name = log.getKey().split("-");
            try (EventLog file = EventLog.create(events, name[0], Integer.parseInt(name[1]))) {
                log.getValue().forEach(file::add);
            }
        }
        return Checker.check(directory.resolve("home"), events, EXPECTED);
    }

    /** In two files, each with a document of the queue's own in front, and an unfinished one behind. */
    private static void writeQueue(Path directory, List<Doc> docs) throws IOException {
        Files.createDirectories(directory);
        int half = docs.size() / 2;
        for (int file = 0; file < 2; file++) {
            try (OutputStream out = Files.newOutputStream(directory.resolve("2026010" + file + "-00F.cq4"))) {
                writeDocument(out, new byte[30], 0x40000000);
                for (int i = file * half; i < (file == 0 ? half : docs.size()); i++) {
                    writeDocument(out, docs.get(i).bytes(i), 0);
                }
                writeDocument(out, new byte[0], 0xc0000000);
                writeDocument(out, docs.get(0).bytes(99), 0);
            }
        }
    }

    private static void writeDocument(OutputStream out, byte[] content, int flags) throws IOException {
        int padding = -content.length & 3;
        out.write(ByteBuffer.allocate(Integer.BYTES + content.length + padding)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(content.length | flags)
                .put(content)
                .array());
    }
}
