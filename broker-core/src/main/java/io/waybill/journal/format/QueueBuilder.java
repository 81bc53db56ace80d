package io.waybill.journal.format;

import io.waybill.journal.JournalSettings;
import java.nio.file.Path;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;

/** Begins the builder of a Chronicle queue with what all uses of a journal share. Stateless. */
public final class QueueBuilder {

    private QueueBuilder() {}

    /** The builder of the queue in {@code directory}. */
    public static SingleChronicleQueueBuilder of(Path directory, JournalSettings settings) {
        return SingleChronicleQueueBuilder.binary(directory)
                .rollCycle(settings.roll().cycle())
                .blockSize(settings.blockBytes());
    }
}
