package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CULPRIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolRun;
import io.waybill.dispatch.Provider;
import io.waybill.testing.core.Waits;
import io.waybill.tool.ToolCommands;
import io.waybill.tool.ToolUser;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Commands of bundles that misbehave when they describe themselves, and when they run. */
@Timeout(300)
class ToolRowsTest {

    @TempDir
    private static Path directory;

    private static ForeignNode node;
    private static ToolCommands commands;
    private static ToolUser user;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
        commands = new ToolCommands(node.handlers, node.workers.host);
        user = new ToolUser(node.caller, "server");
        commands.add(new Provider("org.acme.other", "1.0.0"), new ToolCommand() {
            @Override
            public ToolDescription description() {
                return ToolDescription.of("other", "Behaves.");
            }

            @Override
            public void run(ToolRun run) {
                run.line("runs");
            }
        });
    }

    @AfterAll
    static void leave() throws IOException {
        commands.close();
        node.close();
    }

    private record Misbehaving(Culprit culprit) implements ToolCommand {
        @Override
        public ToolDescription description() {
            return culprit.in(
                    "description", ToolDescription.of("bad", "Misbehaves.").limit(Duration.ofMillis(200)));
        }

        @Override
        public void run(ToolRun run) {
            culprit.in("run", this, run);
        }
    }

    static Stream<Row> commands() {
        return Row.of(ToolCommand.class);
    }

    @ParameterizedTest
    @MethodSource("commands")
    void aCommandCostsItsOwnRunOnly(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        AtomicReference<ToolCommands.Registration> added = new AtomicReference<>();
        long before = node.handlers.errors().of(CULPRIT.name());
        Thread bundle = new Thread(
                () -> catchThrowable(() -> added.set(commands.add(CULPRIT, new Misbehaving(culprit)))),
                "bundle of " + row);
        bundle.start();
        try {
            Waits.until(row + ": it is added", () -> !bundle.isAlive() || culprit.happened() > 0);
            if (row.method().equals("run")) {
                runs(row, culprit);
            }
            othersGoOn(row);
        } finally {
            culprit.letGo();
        }
        Waits.until(row + ": its bundle goes on", () -> !bundle.isAlive());
        Waits.until(row + ": its thread has ended", () -> commands.stuck(CULPRIT) == 0);
        if (added.get() != null) {
            added.get().remove();
            added.get().remove();
        }
        if (row.how() == Misbehaviour.CALLS_AFTER_END) {
            culprit.useKept();
        }
        assertThat(user.run("bad").error()).as("%s: after it was removed", row).contains("has no command bad");
        assertThat(culprit.happened()).as("%s: calls of it", row).isEqualTo(1);
        ForeignNode.isCharged(row, node.handlers, before);
        if (row.how() == Misbehaviour.NULL
                || row.how() == Misbehaviour.HANG && row.method().equals("run")) {
            assertThat(node.handlers.errors().of(CULPRIT.name()))
                    .as("%s: errors of its bundle", row)
                    .isGreaterThan(before);
        }
        othersGoOn(row);
        node.everythingIsBack(row);
    }

    private static void runs(Row row, Culprit culprit) {
        ToolUser.Outcome outcome = user.run("bad");
        assertThat(culprit.happened()).isEqualTo(1);
        boolean isWell = switch (row.how()) {
            case RELEASES_TWICE, CALLS_AFTER_END -> true;
            default -> false;
        };
        assertThat(outcome.exitCode()).as("%s: %s", row, outcome.error()).isEqualTo(isWell ? 0 : 1);
        if (!isWell) {
            assertThat(outcome.error())
                    .as("%s: the error of its run", row)
                    .startsWith("command bad of " + CULPRIT)
                    .doesNotContain("\n");
        }
    }

    private static void othersGoOn(Row row) {
        assertThat(user.run("other").lines()).as("%s: another command", row).containsExactly("runs");
        node.othersAreServed(row);
    }
}
