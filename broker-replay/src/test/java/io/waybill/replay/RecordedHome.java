package io.waybill.replay;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.WorkerInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/** A home with real workers whose calls are recorded, and how the recording is read. Closes the workers. */
public final class RecordedHome implements AutoCloseable {

    public static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .archive(ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL))
            .build();

    public final Workers workers;
    /** The ids of the requests that are handled in order, in that order, by worker. */
    final Map<String, List<Long>> begun = new ConcurrentHashMap<>();

    public RecordedHome(Path directory) throws IOException {
        workers = new Workers(directory);
    }

    public Path path() {
        return workers.home.path();
    }

    public Worker join(String name) throws IOException {
        return join(name, workers.registry());
    }

    public Worker join(String name, HandlerRegistry handlers) throws IOException {
        return workers.join(name, handlers, SETTINGS);
    }

    /** Has an operation responded to by one thread, which makes the order of beginning that of running. */
    public void handleInOrder(String worker, HandlerRegistry handlers, String operation, MessageHandler handler) {
        List<Long> ids = begun.computeIfAbsent(worker, any -> new CopyOnWriteArrayList<>());
        workers.handleOneByOne(handlers, operation, (message, outbox) -> {
            ids.add(message.id());
            handler.handle(message, outbox);
        });
    }

    public static Request raw(String to, int type, byte[] payload) {
        return Request.raw(to, MessageType.userRequest(type), ByteBuffer.wrap(payload), List.of());
    }

    public HomeRecording recording() throws IOException {
        return HomeRecording.open(path(), workers.host);
    }

    public static WorkerInfo worker(CallRecording recording, String name) {
        return recording.workers().stream()
                .filter(info -> info.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    public static List<RecordedCall> handled(CallRecording recording, String worker, MessageFilter filter)
            throws IOException {
        List<RecordedCall> calls = new ArrayList<>();
        try (CallRecording.Handled handled = recording.handled(worker(recording, worker), filter)) {
            for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                calls.add(call);
            }
        }
        return calls;
    }

    public static List<Long> ids(List<RecordedCall> calls) {
        return calls.stream().map(RecordedCall::id).toList();
    }

    public Path directory(String worker) throws IOException {
        try (Stream<Path> all = Files.list(workers.home.workersPath())) {
            return all.filter(path -> path.getFileName().toString().endsWith("-" + worker))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Override
    public void close() throws IOException {
        workers.close();
    }
}
