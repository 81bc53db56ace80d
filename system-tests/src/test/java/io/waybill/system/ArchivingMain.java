package io.waybill.system;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.archive.ArchiveStatus;
import io.waybill.archive.Omission;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A process that joins a home, archives tensors, but no more of them in a time than it sends, and sends itself some when it is told to. What is in a tensor follows from the number
 * in its message's payload. {@link WorkerProcess} is the other end.
 */
final class ArchivingMain {

    static final TensorConfig TENSORS = new TensorConfig(4 << 20, 16 << 20, 4096, 64 << 10);
    private static final long WAITING_BYTES = 8 << 20;
    private static final long BYTES_PER_SECOND = 64 << 20;
    private static final int[] LENGTHS = {5000, 70_000, 300_000, 1_000_000};

    private final Worker worker;
    private final AtomicLong responded = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private Thread sender;
    private volatile boolean stopped;

    private ArchivingMain(Worker worker) {
        this.worker = worker;
    }

    /** @param arguments home, name, log file, reserve in bytes */
    public static void main(String[] arguments) throws IOException {
        Host host = Host.real();
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Home home = Home.open(Path.of(arguments[0]), host);
        Provider provider = new Provider("echo", "1.0.0");
        HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
        registry.add(new HandlerSpec(
                List.of(HandlerKey.parse(WorkerMain.ECHO)),
                (message, outbox) -> {
                    message.tensors().forEach(tensor -> tensor.storage().retain());
                    outbox.respond(message.payload(), message.tensors());
                },
                false,
                provider,
                0,
                ArchivingMain.class.getClassLoader(),
                executor));
        Worker worker = Worker.join(
                home,
                arguments[1],
                JoinOptions.defaults(),
                WorkerMain.settings(Long.parseLong(arguments[3])).toBuilder()
                        .tensors(TENSORS)
                        .archive(ArchiveSettings.DEFAULTS
                                .withPolicy(ArchivePolicy.ALL)
                                .withWaitingBytes(WAITING_BYTES)
                                .withBytesPerSecond(BYTES_PER_SECOND))
                        .build(),
                registry);
        worker.ready(Map.of());
        WorkerMain.say("ready " + worker.info().id() + " " + worker.directory().epoch());
        new ArchivingMain(worker).obey();
    }

    /** The bytes of the tensor of the message with this number. */
    static byte[] bytes(long number) {
        byte[] bytes = new byte[LENGTHS[(int) (number % LENGTHS.length)]];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (number * 31 + i * 7 + (i >> 10));
        }
        return bytes;
    }

    private void obey() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            switch (line) {
                case "go" -> {
                    stopped = false;
                    sender = new Thread(this::send, "sender");
                    sender.start();
                    WorkerMain.say("going");
                }
                case "stop" -> {
                    stop();
                    WorkerMain.say("stopped");
                }
                case "stats" -> WorkerMain.say("stats " + stats());
                case "leave" -> {
                    worker.close();
                    WorkerMain.say("left");
                    return;
                }
                default -> WorkerMain.say("what? " + line);
            }
        }
        System.exit(3); // the test is gone
    }

    private void stop() {
        stopped = true;
        try {
            sender.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private String stats() {
        ArchiveStatus status = worker.archiveStatus();
        return "answered=" + responded.get() + " failed=" + failed.get() + " archived=" + status.archivedStorages()
                + " diskfull=" + status.dropped().getOrDefault(Omission.DISK_FULL, 0L);
    }

    private void send() {
        for (long number = 0; !stopped; number++) {
            byte[] bytes = bytes(number);
            try {
                Storage storage = worker.buffers().allocate(bytes.length);
                storage.bytes(0, bytes.length).put(bytes);
                send(storage, number);
                responded.incrementAndGet();
            } catch (CallException e) {
                if (failed.incrementAndGet() == 1) {
                    System.out.println("the first call that failed: " + e);
                }
            }
        }
    }

    private void send(Storage storage, long number) {
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
        ByteBuffer payload = ByteBuffer.allocate(Long.BYTES).putLong(0, number);
        try {
            worker.call(Request.raw(worker.info().name(), MessageType.userRequest(0x42), payload, List.of(tensor)))
                    .close();
        } finally {
            storage.release();
        }
    }
}
