package io.waybill.replay.run;

import io.waybill.replay.RecordedCall;
import io.waybill.replay.Recording;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Reads recorded calls while earlier ones run. What was read and not taken is bounded.
 *
 * <p><b>Threads.</b> Runs on its own; one other takes. <b>Errors.</b> {@link #take} throws what reading threw.
 */
final class ReadAhead implements Runnable {

    private static final int MOST_BATCHES = 4;
    private static final int MOST_BYTES = 4 << 20;

    private final Recording.Handled handled;
    private final int batchSize;
    private final CallReader reader;
    private final BlockingQueue<Batch> batches = new ArrayBlockingQueue<>(MOST_BATCHES);
    // Written by the reading thread before it ends the batches, read after that.
    private volatile Throwable failure;

    /** @param batchSize most calls of one batch */
    ReadAhead(Recording.Handled handled, CallReader reader, int batchSize) {
        this.handled = handled;
        this.reader = reader;
        this.batchSize = batchSize;
    }

    @Override
    public void run() {
        try {
            List<ReadCall> calls = readSome();
            while (!calls.isEmpty()) {
                batches.put(new Batch(calls));
                calls = readSome();
            }
        } catch (InterruptedException e) {
            return; // nobody takes any more
        } catch (IOException | RuntimeException | Error e) {
            failure = e;
        }
        try {
            batches.put(new Batch(List.of()));
        } catch (InterruptedException e) {
            return; // likewise
        }
    }

    private List<ReadCall> readSome() throws IOException {
        List<ReadCall> calls = new ArrayList<>(batchSize);
        long bytes = 0;
        RecordedCall call = null;
        while (calls.size() < batchSize && bytes < MOST_BYTES && (call = handled.next()) != null) {
            Optional<ReadCall> read = reader.read(call);
            if (read.isPresent()) {
                calls.add(read.get());
                bytes += call.request().record().length
                        + call.response()
                                .map(response -> response.record().length)
                                .orElse(0);
            }
        }
        return calls;
    }

    /** The next calls, of which the last time there are none. */
    Batch take() throws InterruptedException, IOException {
        Batch batch = batches.take();
        if (batch.read().isEmpty() && failure != null) {
            throw new IOException("the recording can't be read: " + failure.getMessage(), failure);
        }
        return batch;
    }

    /** Requests that were left out. Good once all was taken. */
    long left() {
        return reader.left();
    }
}
