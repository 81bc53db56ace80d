package io.waybill.cuda.check;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.converter.CudaConverter;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A process with the worker {@code server}, which shares its first GPU with the worker {@code caller}. {@code peer.check} reads the bytes of a tensor, and responds with the index of its
 * device; {@code peer.use} asks for the address; {@code peer.clear} begins to
 * write zeros, and responds;
 * {@code peer.keep} keeps a tensor; {@code peer.give} responds
 * with it; {@code peer.make} responds with one of its own, and keeps it; {@code peer.changed} reads the one that is kept. Ends when its input does.
 */
final class SharingPeer implements AutoCloseable {

    static final int LARGE = (4 << 20) + 3;

    /** Seed of the content that {@code peer.check} expects. */
    static final int SENT = 7;

    /** Seed of what {@code peer.make} makes. */
    static final int MADE = 9;

    /** Seed of what {@code peer.changed} expects in the tensor that is kept. */
    static final int CHANGED = 11;

    private static final int LIMIT_S = 120;

    private final Process process;

    private SharingPeer(Process process) {
        this.process = process;
    }

    /**
     * Starts it, and waits until it serves.
     *
     * @param driver the file of the driver's library; empty where the loader finds it
     */
    static SharingPeer start(Path home, Path scratch, String driver) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("--add-"))
                .forEach(command::add);
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"));
        command.addAll(List.of("-Dchronicle.analytics.disable=true", "-Dslf4j.internal.verbosity=ERROR"));
        command.add("-Djava.io.tmpdir=" + scratch);
        command.add("-D" + CudaNatives.DRIVER_PROPERTY + "=" + driver);
        command.add("-D" + CudaNatives.DIRECTORY_PROPERTY + "=" + scratch.resolve("natives-of-peer"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), SharingPeer.class.getName()));
        command.add(home.toString());
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
        for (String line = lines.readLine(); !"ready".equals(line); line = lines.readLine()) {
            if (line == null) {
                throw new IllegalStateException("the process has ended before it was ready");
            }
        }
        return new SharingPeer(process);
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor(LIMIT_S, TimeUnit.SECONDS);
    }

    /** Lets it leave. Returns its exit code. */
    int finish() throws IOException, InterruptedException {
        process.getOutputStream().close();
        return process.waitFor(LIMIT_S, TimeUnit.SECONDS) ? process.exitValue() : -1;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] args) throws IOException {
        CudaConverter converter = new CudaConverter(0, 64);
        AtomicReference<Tensor> kept = new AtomicReference<>();
        try (Worker worker = Waybill.connect(Path.of(args[0]), "server")
                .with(converter)
                .shareDevices("caller")
                .with("peer.check", SharingPeer::check)
                .with("peer.use", (message, outbox) -> {
                    message.tensors().forEach(tensor -> tensor.storage().deviceAddress());
                    outbox.respond(ByteBuffer.allocate(0));
                })
                .with("peer.clear", (message, outbox) -> {
                    BareCopies.clear(message.tensors().get(0).storage().deviceAddress(), LARGE);
                    outbox.respond(ByteBuffer.allocate(0));
                })
                .with("peer.keep", (message, outbox) -> {
                    Tensor tensor = message.tensors().get(0);
                    tensor.storage().retain();
                    kept.set(tensor);
                    outbox.respond(ByteBuffer.allocate(0));
                })
                .with(
                        "peer.give",
                        (message, outbox) -> outbox.respond(ByteBuffer.allocate(0), List.of(kept.getAndSet(null))))
                .with("peer.make", (message, outbox) -> {
                    Tensor made = tensor(converter, outbox.buffers().allocate(LARGE), MADE);
                    made.storage().retain();
                    release(kept.getAndSet(made));
                    outbox.respond(ByteBuffer.allocate(0), List.of(made));
                })
                .with("peer.changed", (message, outbox) -> {
                    Tensor tensor = kept.getAndSet(null);
                    requireContent(tensor, CHANGED);
                    tensor.storage().release();
                    outbox.respond(ByteBuffer.allocate(0));
                })
                .join()) {
            System.out.println(worker.info());
            System.out.println("ready");
            while (System.in.read() >= 0) {
                // until it ends
            }
            release(kept.get());
        }
        converter.close();
    }

    private static void release(Tensor tensor) {
        if (tensor != null) {
            tensor.storage().release();
        }
    }

    private static void check(Message message, Outbox outbox) {
        Tensor tensor = message.tensors().get(0);
        requireContent(tensor, SENT);
        outbox.respond(ByteBuffer.wrap(new byte[] {(byte) tensor.device().index()}));
    }

    /** Makes a tensor on the first GPU. To be released. */
    static Tensor tensor(CudaConverter converter, Storage host, int seed) throws RejectedMessageException {
        try {
            ByteBuffer content = host.bytes(0, LARGE);
            for (int i = 0; i < LARGE; i++) {
                content.put(i, content(i, seed));
            }
            Storage placed = converter.allocateForReceiving(host, GpuWorkers.GPU, converter.streams(GpuWorkers.GPU));
            return Tensor.contiguous(DType.UINT8, new long[] {LARGE}, placed);
        } finally {
            host.release();
        }
    }

    /** Writes other bytes into a tensor on the first GPU, which no program may do with one that is shared. */
    static void change(Tensor tensor) {
        ByteBuffer content = ByteBuffer.allocateDirect(LARGE);
        for (int i = 0; i < LARGE; i++) {
            content.put(i, content(i, CHANGED));
        }
        BareCopies.write(tensor.storage().deviceAddress(), content);
    }

    /** Reads the bytes of a tensor on a GPU. */
    static void requireContent(Tensor tensor, int seed) {
        if (!tensor.device().type().equals(GpuWorkers.GPU.type())) {
            throw new AssertionError("expected a tensor on a GPU, found " + tensor);
        }
        ByteBuffer content =
                BareCopies.read(tensor.device().index(), tensor.storage().deviceAddress(), LARGE);
        for (int i = 0; i < LARGE; i++) {
            if (content.get(i) != content(i, seed)) {
                throw new AssertionError("byte " + i + ": expected " + content(i, seed) + ", found " + content.get(i));
            }
        }
    }

    private static byte content(int position, int seed) {
        return (byte) (position * 31 + (position >> 8) + seed);
    }
}
