package io.waybill.worker.peer;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a worker keeps of peers that have left. */
@Timeout(300)
class DepartedPeersTest {

    private static final int PEERS = 50;

    @TempDir
    private Path directory;

    @Test
    void areMappedNoLonger() throws IOException {
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
            workers.join("server", handlers);
            for (int i = 0; i < PEERS; i++) {
                Worker caller = workers.join("caller-" + i);
                caller.call(Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of()))
                        .close();
                caller.close();
            }
            Waits.until(() -> mapped() + " files of " + PEERS + " peers that have left are mapped", () -> {
                System.gc(); // which ends mappings that nothing refers to
                return mapped() <= 1; // the last one may still be in an object for reuse
            });
        }
    }

    /** The number of callers' files that are mapped for reading alone: by those that read them. */
    private static long mapped() {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains(" r--s ") && line.contains("-caller-"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
