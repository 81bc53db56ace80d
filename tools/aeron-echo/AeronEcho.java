import io.aeron.Aeron;
import io.aeron.ConcurrentPublication;
import io.aeron.Subscription;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Echoes per second between two processes over Aeron's shared memory, 256 of 168 bytes in flight, with both directions recorded by Aeron's
 * archive: the peer of {@code waybill bench throughput}. Prints one number for each round.
 *
 * <p>Arguments: echoes in a round, rounds, and {@code spin} or {@code backoff}. The second process starts itself.
 */
final class AeronEcho {

    private static final String CHANNEL = "aeron:ipc";
    private static final int REQUESTS = 1001;
    private static final int RESPONSES = 1002;
    private static final int BYTES = 168;
    private static final int IN_FLIGHT = 256;

    private AeronEcho() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("echo")) {
            echo(arguments[1], idle(arguments[2]));
        } else {
            Path directory = Files.createTempDirectory("aeron-echo");
            try {
                measure(directory, Long.parseLong(arguments[0]), Integer.parseInt(arguments[1]), arguments[2]);
            } finally {
                remove(directory);
            }
        }
    }

    private static IdleStrategy idle(String name) {
        return switch (name) {
            case "spin" -> BusySpinIdleStrategy.INSTANCE;
            case "backoff" -> new BackoffIdleStrategy();
            default -> throw new IllegalArgumentException("expected spin or backoff, found " + name);
        };
    }

    private static void measure(Path directory, long echoes, int rounds, String waiting) throws Exception {
        String driverDirectory = directory.resolve("driver").toString();
        MediaDriver.Context driver = new MediaDriver.Context()
                .aeronDirectoryName(driverDirectory)
                .threadingMode(ThreadingMode.SHARED);
        AeronArchive.Context control = new AeronArchive.Context()
                .aeronDirectoryName(driverDirectory)
                .controlRequestChannel(CHANNEL)
                .controlRequestStreamId(AeronArchive.Configuration.localControlStreamId())
                .controlResponseChannel(CHANNEL);
        Archive.Context archive = new Archive.Context()
                .aeronDirectoryName(driverDirectory)
                .archiveDir(directory.resolve("archive").toFile())
                .archiveClientContext(control.clone())
                .threadingMode(ArchiveThreadingMode.SHARED)
                .controlChannelEnabled(false)
                .recordingEventsEnabled(false)
                .replicationChannel("aeron:udp?endpoint=127.0.0.1:0");
        try (ArchivingMediaDriver running = ArchivingMediaDriver.launch(driver, archive);
                AeronArchive recorder = AeronArchive.connect(control)) {
            recorder.startRecording(CHANNEL, REQUESTS, SourceLocation.LOCAL);
            recorder.startRecording(CHANNEL, RESPONSES, SourceLocation.LOCAL);
            Process other = other(driverDirectory, waiting);
            try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(driverDirectory));
                    ConcurrentPublication requests = aeron.addPublication(CHANNEL, REQUESTS);
                    Subscription responses = aeron.addSubscription(CHANNEL, RESPONSES)) {
                while (!requests.isConnected() || !responses.isConnected() || responses.imageCount() == 0) {
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                TimeUnit.SECONDS.sleep(1); // the recordings begin
                for (int round = 0; round < rounds; round++) {
                    System.out.printf("%,d echoes/s%n", round(requests, responses, echoes, idle(waiting)));
                }
                try (Stream<Path> files = Files.walk(directory.resolve("archive"))) {
                    long segments = files.filter(path -> path.toString().endsWith(".rec"))
                            .count();
                    System.out.println(segments + " segments recorded");
                }
            } finally {
                other.destroy();
                other.waitFor();
            }
        }
    }

    private static Process other(String driverDirectory, String waiting) throws IOException {
        return new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        System.getProperty("aeron-echo.source"),
                        "echo",
                        driverDirectory,
                        waiting)
                .inheritIO()
                .start();
    }

    private static long round(ConcurrentPublication requests, Subscription responses, long echoes, IdleStrategy idle) {
        UnsafeBuffer message = new UnsafeBuffer(new byte[BYTES]);
        long[] received = new long[1];
        FragmentHandler count = (buffer, offset, length, header) -> {
            if (buffer.getLong(offset) != received[0]) {
                throw new IllegalStateException(
                        "expected echo " + received[0] + ", found " + buffer.getLong(offset));
            }
            received[0]++;
        };
        long startedNs = System.nanoTime();
        long sent = 0;
        while (received[0] < echoes) {
            int work = responses.poll(count, IN_FLIGHT);
            while (sent < echoes && sent - received[0] < IN_FLIGHT) {
                message.putLong(0, sent);
                if (requests.offer(message) < 0) {
                    break;
                }
                sent++;
                work++;
            }
            idle.idle(work);
        }
        return echoes * TimeUnit.SECONDS.toNanos(1) / (System.nanoTime() - startedNs);
    }

    private static void echo(String driverDirectory, IdleStrategy idle) {
        try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(driverDirectory));
                ConcurrentPublication responses = aeron.addPublication(CHANNEL, RESPONSES);
                Subscription requests = aeron.addSubscription(CHANNEL, REQUESTS)) {
            FragmentHandler respond = (buffer, offset, length, header) -> {
                while (responses.offer(buffer, offset, length) < 0) {
                    Thread.onSpinWait();
                }
            };
            while (true) {
                idle.idle(requests.poll(respond, IN_FLIGHT));
            }
        }
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
