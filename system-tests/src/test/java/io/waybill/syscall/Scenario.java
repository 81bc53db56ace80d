package io.waybill.syscall;

import java.nio.file.Path;

/** What a subject does while its system calls fail, and what must hold when they fail no more. Belongs to the thread that runs the cases. */
interface Scenario {

    /** Returns the directory below which calls for files count. */
    Path under(Path home);

    /** The part in which calls fail. Returns whether the worker is joined at its end. */
    boolean perform(Attempt attempt) throws Exception;

    /** Nothing fails any more. Adds to the verdict what must not be, and leaves no worker joined. */
    void recover(Attempt attempt, boolean isJoined) throws Exception;
}
