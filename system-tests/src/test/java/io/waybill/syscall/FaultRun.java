package io.waybill.syscall;

import io.waybill.journal.Durability;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Runs one scenario after the other: a worker joins, calls and serves until its queues have second files, changes its handler, leaves,
 * joins again, and calls and serves; meanwhile some of its system calls fail. Then they fail no more: it serves an old and a new peer, or has
 * stopped; and a further incarnation does all of it.
 *
 * <p>The peers are workers of this process. The subject's process is the same for all cases, as long as there is no problem.
 */
final class FaultRun implements AutoCloseable {

    private static final String OLD = "old";
    private static final int FEW = 20;
    private static final long LIMIT_NS = 20_000_000_000L;
    private static final long STEP_NS = 50_000_000;

    private final Path directory;
    private Subject subject; // null before the first case, and after a problem
    private int homes;

    FaultRun(Path directory) {
        this.directory = directory;
    }

    /** Returns how many calls of each name the scenario makes. */
    Map<String, Long> counts(Durability durability) throws Exception {
        Subject counted = subject();
        Path home = nextHome();
        try (Member old = Member.join(home, OLD, durability)) {
            counted.faults().count(home);
            Verdict verdict = new Verdict(null);
            if (perform(home, durability, old, verdict)) {
                counted.leave();
            }
            counted.faults().disarm();
            if (!verdict.reasons.isEmpty()) {
                throw new AssertionError("without a fault: " + verdict.reasons + "\n" + counted.log());
            }
            return counted.faults().counts();
        } finally {
            remove(home);
        }
    }

    /** Returns which calls of each name there were in the counted scenario: at most so many for files of a kind, spread over it. */
    Map<String, List<Long>> spread(int each) throws Exception {
        return subject().faults().spread(each);
    }

    /** Runs a case. */
    Verdict run(FaultCase fault) throws Exception {
        Verdict verdict = new Verdict(fault);
        Path home = nextHome();
        subject().forgetLog();
        try (Member old = Member.join(home, OLD, fault.durability())) {
            subject.faults().arm(fault.failing(), fault.nth(), fault.extent(), home);
            boolean isJoined = perform(home, fault.durability(), old, verdict);
            verdict.failed.addAll(subject.faults().failed());
            subject.faults().disarm();
            if (isJoined) {
                serveOrStop(home, fault.durability(), old, verdict);
            }
            rejoinWithoutFaults(home, fault.durability(), old, verdict);
            List<String> left = subject.left(home);
            if (!left.isEmpty()) {
                verdict.problem("after the last incarnation left there is still " + left);
            }
        } catch (AssertionError e) {
            verdict.problem(e.getMessage().lines().findFirst().orElse("") + " " + subject.crash());
            subject.faults().disarm();
        }
        verdict.judge();
        if (!verdict.problems.isEmpty()) {
            Files.writeString(directory.resolve("log-" + homes), verdict + "\n" + subject.log());
            subject.close();
            subject = null;
        }
        remove(home);
        return verdict;
    }

    /** The part in which calls fail. Returns whether the worker is joined at its end. */
    private boolean perform(Path home, Durability durability, Member old, Verdict verdict) throws Exception {
        if (!join(home, durability, verdict)) {
            return false;
        }
        verdict.own.add(subject.calls(OLD, Member.BURST));
        verdict.peers.add(old.calls(SubjectMain.NAME, Member.BURST));
        String swapped = subject.swap();
        if (!swapped.equals("swapped")) {
            verdict.reasons.add("handlers were not changed: " + swapped);
        }
        verdict.own.add(subject.calls(SubjectMain.NAME, FEW));
        leave(verdict);
        if (!join(home, durability, verdict)) {
            return false;
        }
        verdict.own.add(subject.calls(OLD, FEW));
        verdict.peers.add(old.calls(SubjectMain.NAME, FEW));
        return true;
    }

    private boolean join(Path home, Durability durability, Verdict verdict) throws Exception {
        String joined = subject.join(home, durability);
        if (!joined.equals("joined")) {
            verdict.reasons.add("join " + joined);
        }
        return joined.equals("joined");
    }

    private void leave(Verdict verdict) throws Exception {
        String failure = subject.failure();
        if (!failure.isEmpty()) {
            verdict.reasons.add("stopped " + failure);
        }
        String left = subject.leave();
        if (!left.equals("ended")) {
            verdict.reasons.add("leave " + left);
        }
    }

    /** Nothing fails any more: the worker serves an old and a new peer, or has stopped. Then it leaves. */
    private void serveOrStop(Path home, Durability durability, Member old, Verdict verdict) throws Exception {
        try (Member fresh = Member.join(home, "fresh", durability)) {
            String served = awaitService(old, fresh, "fresh");
            if (!served.isEmpty() && subject.failure().isEmpty()) {
                verdict.problem("half dead, without a fault any more: " + served);
            }
            boolean hasStopped = !subject.failure().isEmpty();
            int known = verdict.reasons.size();
            leave(verdict);
            if (!hasStopped && verdict.reasons.size() > known) {
                verdict.problem("can't leave, without a fault any more: " + verdict.reasons.get(known));
            }
        }
    }

    private void rejoinWithoutFaults(Path home, Durability durability, Member old, Verdict verdict) throws Exception {
        String joined = subject.join(home, durability);
        if (!joined.equals("joined")) {
            verdict.problem("the next incarnation can't join: " + joined);
            return;
        }
        try (Member newer = Member.join(home, "newer", durability)) {
            String served = awaitService(old, newer, "newer");
            if (!served.isEmpty()) {
                verdict.problem("the next incarnation is not served, or does not serve: " + served + subject.failure());
            }
            String left = subject.leave();
            if (!left.equals("ended")) {
                verdict.problem("the next incarnation can't leave: " + left);
            }
        }
    }

    /** Waits until each calls the subject, and it them. Returns what does not work; empty when all does, or when it has stopped. */
    private String awaitService(Member old, Member other, String otherName) throws Exception {
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (true) {
            Tally tally = new Tally();
            tally.add(old.calls(SubjectMain.NAME, 1));
            tally.add(other.calls(SubjectMain.NAME, 1));
            tally.add(subject.calls(OLD, 1));
            tally.add(subject.calls(otherName, 1));
            tally.add(subject.calls(SubjectMain.NAME, 1));
            if (tally.count(Tally.OK) == 5 || !subject.failure().isEmpty()) {
                return "";
            }
            if (System.nanoTime() - untilNs > 0) {
                return tally.toString();
            }
            LockSupport.parkNanos(STEP_NS);
        }
    }

    private Subject subject() throws Exception {
        if (subject == null) {
            subject = new Subject(directory.resolve("faults-" + homes));
        }
        return subject;
    }

    private Path nextHome() {
        return directory.resolve("home-" + ++homes);
    }

    private static void remove(Path home) throws IOException {
        try (Stream<Path> files = Files.walk(home)) {
            files.sorted(Comparator.reverseOrder()).forEach(FaultRun::delete);
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        if (subject != null) {
            subject.close();
        }
    }
}
