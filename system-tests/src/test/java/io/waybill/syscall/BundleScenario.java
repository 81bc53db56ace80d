package io.waybill.syscall;

import io.waybill.osgi.BundleForge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A worker with a framework installs a bundle, updates it under the calls of a peer, leaves, joins again with what it had, uninstalls it and
 * installs it again. When nothing fails any more the same framework takes a further version, which alone serves, also in the next incarnation.
 */
final class BundleScenario implements Scenario {

    private static final String BUNDLE = "org.acme.versions";
    private static final int VERSIONS = 3;
    private static final int FEW = 20;
    private static final int WHILE_UPDATED = 200;

    private final List<Path> jars = new ArrayList<>();

    /** @param directory for the jars */
    BundleScenario(Path directory) throws IOException {
        for (int version = 1; version <= VERSIONS; version++) {
            BundleForge forge = new BundleForge(Files.createDirectories(directory.resolve("forge-" + version)));
            jars.add(forge.bundle(BUNDLE, version + ".0.0")
                    .source("Version", handler(version))
                    .build());
        }
    }

    private static String handler(int version) {
        return "@Component @HandlesMessage(\"" + Member.BUNDLED
                + "\") public final class Version implements MessageHandler {"
                + " public void handle(Message message, Outbox outbox) {"
                + " outbox.respond(java.nio.ByteBuffer.wrap(new byte[] {" + version + "})); } }";
    }

    @Override
    public Path under(Path home) {
        return home.resolve("osgi");
    }

    @Override
    public boolean perform(Attempt attempt) throws Exception {
        if (!start(attempt)) {
            return false;
        }
        ask(attempt, "install " + jars.get(0));
        CompletableFuture<Tally> traffic = CompletableFuture.supplyAsync(() -> calls(attempt, WHILE_UPDATED));
        ask(attempt, "install " + jars.get(1));
        attempt.verdict().peers.add(traffic.join());
        attempt.verdict().peers.add(calls(attempt, FEW));
        attempt.leave();
        if (!start(attempt)) {
            return false;
        }
        attempt.verdict().peers.add(calls(attempt, FEW));
        if (!attempt.verdict().hasReasons()) { // else it may be missing, as was said
            ask(attempt, "uninstall " + BUNDLE);
        }
        ask(attempt, "install " + jars.get(0));
        attempt.verdict().peers.add(calls(attempt, FEW));
        return true;
    }

    /** Joins, and starts the framework; else leaves again. */
    private boolean start(Attempt attempt) throws Exception {
        if (!attempt.join()) {
            return false;
        }
        if (ask(attempt, "framework " + under(attempt.home()))) {
            return true;
        }
        attempt.leave();
        return false;
    }

    /** Returns whether it was done; else the verdict has the reason. */
    private static boolean ask(Attempt attempt, String command) throws Exception {
        String response = attempt.subject().bundles(command);
        if (!response.equals("done")) {
            attempt.verdict().reasons.add(command + " " + response);
        }
        return response.equals("done");
    }

    private static Tally calls(Attempt attempt, int count) {
        try {
            return attempt.old().bundledCalls(SubjectMain.NAME, count);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void recover(Attempt attempt, boolean isJoined) throws Exception {
        Verdict verdict = attempt.verdict();
        int known = verdict.reasons.size();
        if (isJoined || start(attempt)) {
            ask(attempt, "install " + jars.get(VERSIONS - 1));
            servesLast(attempt);
            attempt.leave();
        }
        if (start(attempt)) {
            servesLast(attempt);
            attempt.leave();
        }
        for (String reason : verdict.reasons.subList(known, verdict.reasons.size())) {
            verdict.problem("without a fault any more: " + reason);
        }
    }

    private static void servesLast(Attempt attempt) {
        Tally served = calls(attempt, FEW);
        if (served.count(Member.version(VERSIONS)) != FEW) {
            attempt.verdict()
                    .problem("version " + VERSIONS + " alone was to serve " + FEW + " calls, without a fault any more: "
                            + served);
        }
    }
}
