package io.waybill.syscall;

import io.waybill.process.SyscallFaults.Extent;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import jnr.constants.platform.Errno;

/** What became of a worker, its calls and its next incarnation after a fault. Belongs to the thread that runs the case. */
final class Verdict {

    /** How the faulty incarnations ended. */
    enum End {
        /** It served an old and a new peer. */
        SERVED,
        /** It stopped by itself, or did not come to be, and said why. */
        STOPPED
    }

    /** What the JDK says instead of EAGAIN. */
    private static final String NO_THREAD = "unable to create native thread";

    /** What the framework says instead of an error that has passed. */
    private static final List<String> HIDDEN = List.of("Unable to create", "see the log for why");
    /** Names of methods and classes of Chronicle, which say nothing to an operator. */
    private static final Pattern OF_LIBRARY = Pattern.compile("net\\.openhft|acquireByteStore|ByteStore|MappedFile");

    final FaultCase fault;
    /** The calls that failed; none when the scenario made fewer. */
    final List<String> failed = new ArrayList<>();
    /** Why it stopped. */
    final List<String> reasons = new ArrayList<>();
    /** What must not be. */
    final List<String> problems = new ArrayList<>();
    /** Outcomes of the subject's calls. */
    final Tally own = new Tally();
    /** Outcomes of calls to it. */
    final Tally peers = new Tally();

    Verdict(FaultCase fault) {
        this.fault = fault;
    }

    End end() {
        return hasReasons() ? End.STOPPED : End.SERVED;
    }

    boolean hasReasons() {
        return !reasons.isEmpty();
    }

    boolean isReached() {
        return !failed.isEmpty();
    }

    void problem(String text) {
        problems.add(text);
    }

    /** Adds as problems what no call may end with, and reasons that blame the files: none of the workers wrote something that is wrong. */
    void judge() {
        judge("its calls", own);
        judge("calls to it", peers);
        Errno errno = Errno.valueOf(fault.failing().errno());
        for (String reason : reasons) {
            boolean names = reason.contains(errno.name())
                    || reason.contains(errno.toString())
                    || errno == Errno.EAGAIN && reason.contains(NO_THREAD)
                    || fault.extent() == Extent.ONE && HIDDEN.stream().anyMatch(reason::contains);
            if (!names) {
                problem("the reason does not name " + errno.name() + ": " + reason);
            }
            if (reason.contains("salvage")) {
                problem("the reason blames the files: " + reason);
            }
            if (OF_LIBRARY.matcher(reason).find()) {
                problem("the reason is in the words of the queue's library: " + reason);
            }
        }
    }

    private void judge(String whose, Tally tally) {
        for (String wrong : List.of(Tally.NONE, Tally.UNTYPED, "PEER_CORRUPT", "UNKNOWN")) {
            if (tally.count(wrong) > 0) {
                problem(whose + " ended with " + wrong + " x" + tally.count(wrong) + ": " + tally.text(wrong));
            }
        }
        tally.texts().stream()
                .filter(text -> OF_LIBRARY.matcher(text).find())
                .forEach(text -> problem(whose + " ended in the words of the queue's library: " + text));
    }

    @Override
    public String toString() {
        return fault + (isReached() ? " " + end() : " NOT REACHED") + " at "
                + failed.stream().findFirst().orElse("-")
                + "\n    its calls " + own + "\n    calls to it " + peers
                + String.join(
                        "",
                        reasons.stream().map(text -> "\n    stopped: " + text).toList())
                + String.join(
                        "",
                        problems.stream().map(text -> "\n    PROBLEM: " + text).toList());
    }
}
