package io.waybill.journal;

import java.nio.file.Path;

/** The two queues of a worker's journal. */
public enum JournalQueue {
    /** All that the worker asks. */
    REQUESTS("requests"),
    /** All that the worker answers. */
    RESPONSES("responses");

    private final String directoryName;

    JournalQueue(String directoryName) {
        this.directoryName = directoryName;
    }

    /** The name of its directory, and of the queue in texts. */
    public String directoryName() {
        return directoryName;
    }

    /** Where it lies in a worker's directory. */
    public Path in(Path workerDirectory) {
        return workerDirectory.resolve(directoryName);
    }
}
