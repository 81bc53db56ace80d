package io.waybill.journal.format;

import io.waybill.host.failure.HostFailures;
import io.waybill.journal.JournalSettings;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import net.openhft.chronicle.core.Jvm;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;

/** Begins the builder of a Chronicle queue with the settings that all uses of a journal share. Stateless. */
public final class QueueBuilder {

    /**
     * Start of Chronicle's warning when it can't open its table for writing, and continues with a queue that is only
     * read.
     */
    private static final String ONLY_READ = "Failback to readonly";

    private QueueBuilder() {}

    /** Returns the builder of the queue in {@code directory}. */
    public static SingleChronicleQueueBuilder of(Path directory, JournalSettings settings) {
        return SingleChronicleQueueBuilder.binary(directory)
                .rollCycle(settings.roll().cycle())
                .blockSize(settings.blockBytes());
    }

    /**
     * Builds a queue that is written.
     *
     * @throws IllegalStateException when its table can't be opened for writing, with the cause, which Chronicle by
     * itself only logs
     */
    public static ChronicleQueue build(SingleChronicleQueueBuilder builder) {
        AtomicReference<Throwable> cause = new AtomicReference<>();
        Jvm.setThreadLocalExceptionHandlers(
                null,
                (log, text, thrown) -> {
                    if (thrown != null && String.valueOf(text).startsWith(ONLY_READ)) {
                        cause.set(thrown);
                    } else {
                        log.warn(text, thrown);
                    }
                },
                null);
        ChronicleQueue queue;
        try {
            queue = builder.build();
        } finally {
            Jvm.setThreadLocalExceptionHandlers(null, null, null);
        }
        if (cause.get() != null) {
            queue.close();
            throw new IllegalStateException(
                    "the table of the queue " + queue.fileAbsolutePath() + " can't be written: "
                            + HostFailures.describe(cause.get()),
                    cause.get());
        }
        return queue;
    }

    /**
     * Opens an appender or a reader of a queue; when that fails, closes the queue, whose files would stay open and
     * mapped.
     */
    public static <T> T openOrClose(ChronicleQueue queue, Function<ChronicleQueue, T> opener) {
        try {
            return opener.apply(queue);
        } catch (Throwable e) { // also an IOException, which Chronicle does not declare
            queue.close();
            throw e;
        }
    }
}
