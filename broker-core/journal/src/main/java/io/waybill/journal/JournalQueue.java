package io.waybill.journal;

import java.nio.file.Path;

/** Queues of a worker's journal. */
public enum JournalQueue {
    /** Queue of all requests that the worker sends. */
    REQUESTS("requests"),
    /** Queue of all responses that the worker sends. */
    RESPONSES("responses");

    private final String directoryName;

    JournalQueue(String directoryName) {
        this.directoryName = directoryName;
    }

    /** Returns the name of the queue's directory, and of the queue in texts. */
    public String directoryName() {
        return directoryName;
    }

    /** Returns the queue's directory in a worker's directory. */
    public Path in(Path workerDirectory) {
        return workerDirectory.resolve(directoryName);
    }
}
