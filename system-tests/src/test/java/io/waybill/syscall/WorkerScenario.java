package io.waybill.syscall;

import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * A worker joins, calls and serves until its queues have second files, changes its handler, leaves, joins again, and calls and serves. When
 * nothing fails any more it serves an old and a new peer, or has stopped; and a further incarnation does all of it.
 */
final class WorkerScenario implements Scenario {

    private static final int FEW = 20;
    private static final long LIMIT_NS = 20_000_000_000L;
    private static final long STEP_NS = 50_000_000;

    @Override
    public Path under(Path home) {
        return home;
    }

    @Override
    public boolean perform(Attempt attempt) throws Exception {
        if (!attempt.join()) {
            return false;
        }
        Subject subject = attempt.subject();
        Verdict verdict = attempt.verdict();
        verdict.own.add(subject.calls(Attempt.OLD, Member.BURST));
        verdict.peers.add(attempt.old().calls(SubjectMain.NAME, Member.BURST));
        String swapped = subject.swap();
        if (!swapped.equals("swapped")) {
            verdict.reasons.add("handlers were not changed: " + swapped);
        }
        verdict.own.add(subject.calls(SubjectMain.NAME, FEW));
        attempt.leave();
        if (!attempt.join()) {
            return false;
        }
        verdict.own.add(subject.calls(Attempt.OLD, FEW));
        verdict.peers.add(attempt.old().calls(SubjectMain.NAME, FEW));
        return true;
    }

    @Override
    public void recover(Attempt attempt, boolean isJoined) throws Exception {
        if (isJoined) {
            serveOrStop(attempt);
        }
        rejoin(attempt);
    }

    private static void serveOrStop(Attempt attempt) throws Exception {
        Subject subject = attempt.subject();
        Verdict verdict = attempt.verdict();
        try (Member fresh = Member.join(attempt.home(), "fresh", attempt.durability())) {
            String served = awaitService(attempt, fresh, "fresh");
            if (!served.isEmpty() && subject.failure().isEmpty()) {
                verdict.problem("half dead, without a fault any more: " + served);
            }
            boolean hasStopped = !subject.failure().isEmpty();
            int known = verdict.reasons.size();
            attempt.leave();
            if (!hasStopped && verdict.reasons.size() > known) {
                verdict.problem("can't leave, without a fault any more: " + verdict.reasons.get(known));
            }
        }
    }

    private static void rejoin(Attempt attempt) throws Exception {
        Subject subject = attempt.subject();
        Verdict verdict = attempt.verdict();
        String joined = subject.join(attempt.home(), attempt.durability());
        if (!joined.equals("joined")) {
            verdict.problem("the next incarnation can't join: " + joined);
            return;
        }
        try (Member newer = Member.join(attempt.home(), "newer", attempt.durability())) {
            String served = awaitService(attempt, newer, "newer");
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
    private static String awaitService(Attempt attempt, Member other, String otherName) throws Exception {
        Subject subject = attempt.subject();
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (true) {
            Tally tally = new Tally();
            tally.add(attempt.old().calls(SubjectMain.NAME, 1));
            tally.add(other.calls(SubjectMain.NAME, 1));
            tally.add(subject.calls(Attempt.OLD, 1));
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
}
