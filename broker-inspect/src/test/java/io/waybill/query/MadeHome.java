package io.waybill.query;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Makes a home in the directory that the second argument names, with as many messages as the first one says: calls of worker 3 to worker 4
 * with their responses, every tenth of which leads to two calls back. For measuring how long a message takes to be found.
 */
final class MadeHome {

    private static final int CALLER = 3;
    private static final int CALLEE = 4;
    private static final long START_NS = 1_700_000_000_000_000_000L;

    private final MessageBuffer buffer = new MessageBuffer();
    private final byte[] payload = new byte[60];

    private MadeHome() {
        payload[0] = 10;
        byte[] name = "text.count".getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(name, 0, payload, 2, name.length);
    }

    public static void main(String[] args) throws IOException {
        Home home = Home.open(Path.of(args[1]), WrittenQueue.HOST);
        Path caller = join(home, "caller", CALLER);
        Path callee = join(home, "callee", CALLEE);
        long startNs = System.nanoTime();
        long calls = new MadeHome().write(caller, callee, Long.parseLong(args[0]));
        System.out.printf("%d calls written in %.1f s%n", calls, (System.nanoTime() - startNs) / 1e9);
        startNs = System.nanoTime();
        index(caller);
        index(callee);
        System.out.printf("indexed in %.1f s%n", (System.nanoTime() - startNs) / 1e9);
    }

    private static Path join(Home home, String name, int id) throws IOException {
        try (WorkerDirectory directory = home.join(name, JoinOptions.defaults().withId(id))) {
            directory.subdirectory("requests");
            directory.subdirectory("responses");
        }
        return home.workersPath().resolve(id + "-" + name);
    }

    private long write(Path caller, Path callee, long messages) {
        long calls = 0;
        long nested = 0;
        try (WrittenQueue asked = queue(caller, JournalQueue.REQUESTS);
                WrittenQueue responded = queue(callee, JournalQueue.RESPONSES);
                WrittenQueue askedBack = queue(callee, JournalQueue.REQUESTS);
                WrittenQueue respondedBack = queue(caller, JournalQueue.RESPONSES)) {
            for (long left = messages; left > 0; calls++) {
                long id = MessageId.of(CALLER, calls);
                long sentNs = START_NS + calls * 1000;
                asked.append(message(MessageType.NAMED_CALL, id, CALLER, CALLEE, sentNs));
                responded.append(message(MessageType.NAMED_RET, id, CALLEE, CALLER, sentNs + 900)
                        .handlerSequence(calls + 1));
                left -= 2;
                for (int child = 0; child < 2 && calls % 10 == 0; child++, left -= 2) {
                    long back = MessageId.of(CALLEE, nested++);
                    askedBack.append(message(MessageType.NAMED_CALL, back, CALLEE, CALLER, sentNs + 100)
                            .parent(id));
                    respondedBack.append(message(MessageType.NAMED_RET, back, CALLER, CALLEE, sentNs + 200)
                            .handlerSequence(nested));
                }
            }
        }
        return calls;
    }

    private static WrittenQueue queue(Path worker, JournalQueue queue) {
        return WrittenQueue.open(queue.in(worker), JournalSettings.defaults());
    }

    private MessageBuffer message(MessageType type, long id, int from, int to, long sentNs) {
        return buffer.begin(type, id, from, to, payload.length, 0)
                .sentNs(sentNs)
                .payload(payload, 0, payload.length);
    }

    private static void index(Path worker) {
        try (IndexBuilder builder = IndexBuilder.open(worker, JournalSettings.defaults(), WrittenQueue.HOST)) {
            while (builder.step(100_000) == IndexBuilder.Progress.BEHIND) {
                continue;
            }
        }
    }
}
