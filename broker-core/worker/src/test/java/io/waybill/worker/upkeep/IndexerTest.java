package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.journal.index.JournalIndex;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import io.waybill.worker.metrics.WorkerCounters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class IndexerTest {

    private static final int IN_FLIGHT = 200;

    @TempDir
    private Path directory;

    /** Nobody else will ever index what it wrote. */
    @Test
    void leavesAnIndexBehindWhenItWasBusyHoweverShortlyItLived() throws IOException {
        int calls = 25_000;
        call(calls);
        assertThat(lastIndexed("caller", JournalQueue.REQUESTS)).isEqualTo(calls - 1);
        assertThat(lastIndexed("server", JournalQueue.RESPONSES)).isEqualTo(calls - 1);
    }

    /** Opening it takes a library, its memory and two threads; a lookup reads a few records as fast without it. */
    @Test
    void opensTheIndexOfAWorkerOnceThereIsMuchToFind() throws IOException {
        Path worker = directory.resolve("3-w");
        WorkerCounters counters = new WorkerCounters();
        try (WrittenQueue requests =
                        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, 1);
                WrittenQueue responses = WrittenQueue.open(worker, JournalQueue.RESPONSES);
                Indexer indexer = indexer(worker, requests, responses, counters)) {
            step(indexer);
            assertThat(worker.resolve("index")).as("one record").doesNotExist();
            for (int call = 0; call < 20_000; call++) {
                counters.countSent();
            }
            step(indexer);
            assertThat(worker.resolve("index")).as("20,000 calls").exists();
        }
    }

    @Test
    void opensTheIndexAtOnceWhenMuchIsThereAlready() throws IOException {
        Path worker = directory.resolve("3-w");
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, 20_000).close();
        try (WrittenQueue requests = WrittenQueue.open(worker, JournalQueue.REQUESTS);
                WrittenQueue responses = WrittenQueue.open(worker, JournalQueue.RESPONSES);
                Indexer indexer = indexer(worker, requests, responses, new WorkerCounters())) {
            step(indexer);
            assertThat(worker.resolve("index")).exists();
        }
    }

    private static Indexer indexer(
            Path worker, WrittenQueue requests, WrittenQueue responses, WorkerCounters counters) {
        IndexBuilder builder = IndexBuilder.open(worker, WrittenQueue.settings(), WrittenQueue.HOST);
        return new Indexer(builder, requests.journal(), responses.journal(), counters, WrittenQueue.HOST);
    }

    /** The first turn only begins the rest after the start. */
    private static void step(Indexer indexer) {
        indexer.doWork();
        indexer.doWork();
    }

    private void call(int calls) throws IOException {
        try (Workers workers = new Workers(directory)) {
            var handlers = workers.registry();
            workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
            workers.join("server", handlers);
            Worker caller = workers.join("caller");
            Deque<CompletableFuture<?>> inFlight = new ArrayDeque<>();
            for (int i = 0; i < calls; i++) {
                if (inFlight.size() == IN_FLIGHT) {
                    inFlight.remove().join();
                }
                inFlight.add(caller.callAsync(
                        Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(8), List.of())));
            }
            inFlight.forEach(CompletableFuture::join);
        }
    }

    private long lastIndexed(String worker, JournalQueue queue) throws IOException {
        try (Workers workers = new Workers(directory);
                JournalIndex index = JournalIndex.open(directoryOf(worker), Workers.SETTINGS.journal(), workers.host)) {
            return index.lastIndexed(queue).orElse(-1);
        }
    }

    private Path directoryOf(String worker) throws IOException {
        try (var workers = Files.list(directory.resolve("home/workers"))) {
            return workers.filter(path -> path.getFileName().toString().endsWith("-" + worker))
                    .findFirst()
                    .orElseThrow();
        }
    }
}
