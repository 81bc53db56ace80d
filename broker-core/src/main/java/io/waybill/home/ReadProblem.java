package io.waybill.home;

import io.waybill.host.failure.HostFailures;

/**
 * Why the files of a worker can't be read: what is wrong with them, or a failure of the process that reads them.
 *
 * @param text empty for none
 * @param isOwn whether the reading process could not get a descriptor, memory or a thread, or its disk failed: the files may be whole
 */
public record ReadProblem(String text, boolean isOwn) {

    public static final ReadProblem NONE = new ReadProblem("", false);

    /** Returns a problem with the content of the files. */
    public static ReadProblem ofFiles(String text) {
        return new ReadProblem(text, false);
    }

    /** Returns the problem that a failed read shows. */
    public static ReadProblem of(Throwable e) {
        return new ReadProblem(HostFailures.describe(e), HostFailures.is(e));
    }

    public boolean isNone() {
        return text.isEmpty();
    }
}
