package io.waybill.replay.run;

import io.waybill.host.Host;
import io.waybill.replay.Answer;
import io.waybill.replay.CallSink;
import io.waybill.replay.Recording;
import io.waybill.replay.ReplayedCall;
import io.waybill.replay.ReplayedCall.Result;
import java.io.IOException;
import java.util.List;

/** The replay of what one worker handled. For one use, by one thread. */
public final class WorkerReplay {

    private final Host host;
    private final Records records;
    private final RunSettings settings;
    private final CallSink sink;
    private long left;

    /** Makes the contenders once it is known that something is to be replayed. */
    @FunctionalInterface
    public interface Opening {
        List<Contender> open() throws IOException;
    }

    public WorkerReplay(Host host, Records records, RunSettings settings, CallSink sink) {
        this.host = host;
        this.records = records;
        this.settings = settings;
        this.sink = sink;
    }

    /** Requests that were left out. */
    public long left() {
        return left;
    }

    /** Runs all calls, and closes what it was given. */
    public void run(Recording.Handled handled, int batchSize, Opening contenders) throws IOException {
        ReadAhead ahead = new ReadAhead(handled, new CallReader(records.withheld()), batchSize);
        try (handled) {
            run(ahead, contenders);
            left = ahead.left();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while it replayed", e);
        }
    }

    private void run(ReadAhead ahead, Opening contenders) throws IOException, InterruptedException {
        Thread reading = host.threads().start("waybill-replay-reader", ahead);
        try {
            Batch first = ahead.take();
            if (!first.read().isEmpty()) {
                run(ahead, first, contenders.open());
            }
        } finally {
            reading.interrupt();
            end(reading); // before its files are closed
        }
    }

    private void run(ReadAhead ahead, Batch first, List<Contender> contenders)
            throws IOException, InterruptedException {
        try (Contenders open = new Contenders(contenders);
                Line line = new Line(host, ahead, records, open.all(), settings)) {
            line.start(first);
            for (Batch batch = line.next(); !batch.read().isEmpty(); batch = line.next()) {
                for (ReplayedCall call : batch.replayed()) {
                    give(call);
                }
            }
        }
    }

    private void give(ReplayedCall call) throws IOException {
        try {
            sink.accept(call);
        } finally {
            call.recorded().ifPresent(WorkerReplay::release);
            for (Result result : call.results()) {
                result.replayed().ifPresent(WorkerReplay::release);
            }
        }
    }

    private static void release(Answer answer) {
        answer.tensors().forEach(tensor -> tensor.storage().release());
    }

    private static void end(Thread reading) {
        boolean interrupted = false;
        while (reading.isAlive()) {
            try {
                reading.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
