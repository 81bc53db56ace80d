package io.waybill.syscall;

import io.waybill.journal.Durability;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Runs a scenario, one time after the other; meanwhile some of the subject's system calls fail.
 *
 * <p>The peers are workers of this process. The subject's process is the same for all cases, as long as there is no problem.
 */
final class FaultRun implements AutoCloseable {

    private final Path directory;
    private final Scenario scenario;
    private Subject subject; // null before the first case, and after a problem
    private int homes;

    FaultRun(Path directory, Scenario scenario) {
        this.directory = directory;
        this.scenario = scenario;
    }

    /** Returns how many calls of each name the scenario makes. */
    Map<String, Long> counts(Durability durability) throws Exception {
        Subject counted = subject();
        Path home = nextHome();
        try (Member old = Member.join(home, Attempt.OLD, durability)) {
            counted.faults().count(scenario.under(home));
            Verdict verdict = new Verdict(null);
            if (scenario.perform(new Attempt(counted, home, durability, old, verdict))) {
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
        try (Member old = Member.join(home, Attempt.OLD, fault.durability())) {
            Attempt attempt = new Attempt(subject, home, fault.durability(), old, verdict);
            subject.faults().arm(fault.failing(), fault.nth(), fault.extent(), scenario.under(home));
            boolean isJoined = scenario.perform(attempt);
            verdict.failed.addAll(subject.faults().failed());
            subject.faults().disarm();
            scenario.recover(attempt, isJoined);
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
