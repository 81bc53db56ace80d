package io.waybill.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.wire.MessageBuffer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tensors between two real processes, through the files alone. */
@Timeout(60)
class TwoProcessesTest {

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private Transit transit;
    private Process receiver;
    private BufferedReader responses;
    private PrintStream records;
    private int count;

    @BeforeEach
    void open() throws IOException {
        transit = new Transit(directory, leaks);
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-")
                    || flag.startsWith("--enable-native")
                    || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                ReceivingProcess.class.getName(),
                transit.segments.toString()));
        receiver = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        responses = new BufferedReader(new InputStreamReader(receiver.getInputStream(), StandardCharsets.UTF_8));
        records = new PrintStream(receiver.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    @AfterEach
    void close() throws InterruptedException {
        records.close();
        if (!receiver.waitFor(10, TimeUnit.SECONDS)) {
            receiver.destroyForcibly().waitFor();
        }
        transit.close();
    }

    private static Tensor bytes(Storage storage) {
        return Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
    }

    private static long sum(Storage storage) {
        long sum = 0;
        var bytes = storage.bytes(0, (int) storage.sizeBytes());
        for (int i = 0; i < bytes.capacity(); i++) {
            sum += bytes.get(i);
        }
        return sum;
    }

    private String[] responseTo(MessageBuffer record) throws IOException {
        byte[] copy = new byte[record.length()];
        record.memory().getBytes(0, copy);
        Path file = Files.write(directory.resolve("record-" + count++), copy);
        records.println(file);
        String line = responses.readLine();
        while (line != null && !line.startsWith("answer ")) {
            line = responses.readLine();
        }
        assertThat(line).as("the receiving process is alive").isNotNull();
        return line.trim().split(" +");
    }

    @Test
    void theReceiverReadsInPlaceAndItsWritesStayItsOwn() throws IOException {
        HostStorage small = transit.filled(1000);
        Storage own = transit.pool.allocate(2_000_000);
        for (int i = 0; i < 5; i++) {
            Transit.fill(own, i);
            HostStorage copied = transit.filled(300_000 + i);
            long before = sum(own);
            String[] response = responseTo(transit.send(bytes(own), bytes(small), bytes(copied)));
            assertThat(response[1]).isEqualTo(String.valueOf(before + sum(small) + sum(copied)));
            assertThat(response[2]).isEqualTo(String.valueOf(2_000_000 + 1000 + 300_000 + i));
            assertThat(response).hasSize(5);
            transit.returned.claim(Transit.RECEIVER, Long.parseLong(response[3]));
            transit.returned.claim(Transit.RECEIVER, Long.parseLong(response[4]));
            assertThat(sum(own)).as("what the sender has").isEqualTo(before);
            transit.sender.reclaim();
            assertThat(transit.sender.leases()).isZero();
            copied.release();
        }
        own.release();
        small.release();
        assertThat(transit.pool.usedBytes()).isZero();
        assertThat(transit.sender.wrongClaims()).isZero();
    }

    @Test
    void aSegmentCutShortIsRefusedAndTheReceiverGoesOn() throws IOException {
        HostStorage storage = transit.filled(300_000);
        assertThat(responseTo(transit.send(bytes(storage)))).hasSize(4);
        MessageBuffer record = transit.send(bytes(storage));
        try (FileChannel file = FileChannel.open(transit.segments.resolve("1000.seg"), StandardOpenOption.WRITE)) {
            file.truncate(4096);
        }
        assertThat(responseTo(record)).contains("PEER_CORRUPT").doesNotContain("300000");
        HostStorage small = transit.filled(10);
        assertThat(responseTo(transit.send(bytes(small)))).containsExactly("answer", String.valueOf(sum(small)), "10");
        storage.release();
        small.release();
    }
}
