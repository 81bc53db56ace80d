package io.waybill.bench.call;

import io.waybill.bench.measure.Phase;
import io.waybill.bench.measure.Phases;
import io.waybill.bench.process.ChildProcess;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/** A client of a {@link SocketEcho}: it writes each message by itself, and reads the response. */
public final class SocketCaller {

    public static final String ROLE = "socket-caller";

    private static final long NOT_KNOWN = Long.MAX_VALUE;

    private final CallLoad load;
    private final SocketChannel channel;
    private final ByteBuffer incoming;
    private final byte[] received;
    private final ByteBuffer outgoing;
    private final byte[] sent;

    private SocketCaller(CallLoad load, SocketChannel channel) {
        this.load = load;
        this.channel = channel;
        this.incoming = ByteBuffer.allocateDirect(load.sizeBytes());
        this.received = new byte[load.sizeBytes()];
        this.outgoing = ByteBuffer.allocateDirect(load.sizeBytes());
        this.sent = new byte[load.sizeBytes()];
    }

    /** Arguments: see {@link MeasuredSystem}. */
    public static void run(String[] arguments) throws IOException {
        CallLoad load = CallLoad.parse(arguments[1]);
        try (SocketChannel channel = SocketChannel.open(SocketEcho.address(arguments[0]))) {
            SocketCaller caller = new SocketCaller(load, channel);
            ChildProcess.ready();
            ChildProcess.awaitBegin();
            Phases.Calls calls = load.inFlight() == 1 ? Phases.oneByOne(caller::exchange) : caller::callInFlight;
            ChildProcess.report(load.phases().measure(Long.parseLong(arguments[3]), calls));
            ChildProcess.awaitEnd();
        }
    }

    private long exchange() throws IOException {
        write();
        return read();
    }

    private void write() throws IOException {
        SocketEcho.write(channel, outgoing, sent);
    }

    /** Reads a message, and returns what the work took. */
    private long read() throws IOException {
        SocketEcho.read(channel, incoming, received);
        return load.work().takenNs(received);
    }

    /** One thread writes while this one reads: were they one, both sides could block in their writes. */
    private long callInFlight(Phase phase) throws IOException {
        Semaphore free = new Semaphore(load.inFlight());
        AtomicLong total = new AtomicLong(NOT_KNOWN); // set before the last message is written
        Thread sender = new Thread(() -> send(phase, free, total), "waybill-bench-sender");
        sender.setDaemon(true);
        sender.start();
        long calls = 0;
        for (; calls < total.get(); calls++) {
            long takenNs = read();
            if (phase.isTimed(calls)) {
                phase.end(takenNs);
            }
            free.release();
        }
        return calls;
    }

    private void send(Phase phase, Semaphore free, AtomicLong total) {
        try {
            for (long calls = 0; calls < total.get(); calls++) {
                free.acquireUninterruptibly();
                if (phase.isOver(calls + 1)) {
                    total.set(calls + 1);
                }
                phase.begin(calls);
                write();
            }
        } catch (IOException e) {
            throw new IllegalStateException(
                    "the socket of the echo can't be written", e); // the reads of the other thread end as well
        }
    }
}
