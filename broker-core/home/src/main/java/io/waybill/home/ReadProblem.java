package io.waybill.home;

import io.waybill.host.failure.HostFailures;

/**
 * Problem of reading a worker's files: a defect of the files, or a failure of the process that reads them.
 *
 * @param text description; empty for none
 * @param isOwn whether the reading process could not get a descriptor, memory or a thread, or its disk failed: the
 * files may be whole
 */
public record ReadProblem(String text, boolean isOwn) {

    public static final ReadProblem NONE = new ReadProblem("", false);

    /** Returns a problem with the content of the files. */
    public static ReadProblem ofFiles(String text) {
        return new ReadProblem(text, false);
    }

    /** Returns the problem shown by a failed read. */
    public static ReadProblem of(Throwable e) {
        return new ReadProblem(HostFailures.describe(e), HostFailures.is(e));
    }

    public boolean isNone() {
        return text.isEmpty();
    }
}
