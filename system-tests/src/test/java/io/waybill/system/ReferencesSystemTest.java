package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.kept.KeptValues;
import io.waybill.rref.Keeping;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Remote references among three processes. */
@Tag("ci")
@Timeout(600)
class ReferencesSystemTest {

    private static final String NOTHING = "{num_owner_rrefs=0,num_forks=0,num_pending_users=0,num_pending_futures=0}";

    @TempDir
    private Path directory;

    private Processes processes;
    private WorkerProcess a;
    private WorkerProcess b;
    private WorkerProcess c;

    @BeforeEach
    void start() throws Exception {
        processes = new Processes(directory.resolve("home"), directory);
        a = processes.start("a");
        b = processes.start("b");
        c = processes.start("c");
        for (WorkerProcess each : List.of(a, b, c)) {
            each.awaitReady();
        }
    }

    @AfterEach
    void stop() {
        processes.close();
    }

    private static String command(WorkerProcess worker, String what) throws Exception {
        return worker.ask("rref " + what, "rref ").substring("rref ".length());
    }

    private static void awaitNothingLeft(WorkerProcess worker) {
        Waits.until(
                () -> worker.name() + " has references left: " + counters(worker),
                () -> counters(worker).equals(NOTHING));
    }

    private static String counters(WorkerProcess worker) {
        try {
            return command(worker, "counters");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void goFromUserToUserToOwnerAndFromOwnerToUser() throws Exception {
        String atA = command(a, "remote b 2 3");
        assertThat(command(a, "fetch " + atA)).isEqualTo("5");
        String atC = command(a, "send c " + atA);
        assertThat(command(c, "fetch " + atC)).isEqualTo("5");
        assertThat(command(a, "close " + atA)).isEqualTo("closed");
        assertThat(command(c, "fetch " + atC)).isEqualTo("5");
        String atB = command(c, "send b " + atC);
        assertThat(command(c, "close " + atC)).isEqualTo("closed");
        assertThat(command(b, "fetch " + atB)).isEqualTo("5");
        String backAtA = command(b, "send a " + atB);
        assertThat(command(b, "close " + atB)).isEqualTo("closed");
        assertThat(command(a, "fetch " + backAtA)).isEqualTo("5");
        assertThat(command(a, "close " + backAtA)).isEqualTo("closed");
        for (WorkerProcess each : List.of(a, b, c)) {
            awaitNothingLeft(each);
        }
    }

    @Test
    void completeWhenTheirOwnerIsKilledAndComesBack() throws Exception {
        String atA = command(a, "remote b 2 3");
        String atC = command(a, "send c " + atA);
        assertThat(command(c, "fetch " + atC)).isEqualTo("5");
        b.kill();
        WorkerProcess again = processes.start("b").awaitReady();
        Waits.until("a is told", () -> command(a, "fetch " + atA).equals("OWNER_LOST"));
        Waits.until("c is told", () -> command(c, "fetch " + atC).equals("OWNER_LOST"));
        command(a, "close " + atA);
        command(c, "close " + atC);
        String restarted = command(a, "remote b 4 5");
        assertThat(command(a, "fetch " + restarted)).isEqualTo("9");
        command(a, "close " + restarted);
        for (WorkerProcess each : List.of(a, again, c)) {
            awaitNothingLeft(each);
        }
    }

    /** The owner reads these requests when the next incarnation of their sender is there, which knows nothing of them. */
    @Test
    void areReleasedWhenTheirUserWasKilledBeforeTheOwnerReadOfThem() throws Exception {
        try (Processes brief =
                new Processes(directory.resolve("brief"), directory, Keeping.ON_REQUEST, Duration.ofSeconds(1))) {
            WorkerProcess owner = brief.start("owner");
            WorkerProcess user = brief.start("user").awaitReady();
            owner.awaitReady();
            assertThat(command(user, "fetch " + command(user, "remote owner 2 3")))
                    .isEqualTo("5");
            owner.pause();
            command(user, "remote owner 4 5");
            command(user, "remote owner 6 7");
            user.kill();
            WorkerProcess again = brief.start("user").awaitReady();
            owner.resume();
            assertThat(command(again, "fetch " + command(again, "remote owner 8 9")))
                    .isEqualTo("17");
            command(again, "close 0");
            awaitNothingLeft(again);
            awaitNothingLeft(owner);
        }
    }

    @Test
    void areThereAgainWhenAnOwnerThatKeepsThemIsKilled() throws Exception {
        try (Processes keeping =
                new Processes(directory.resolve("kept"), directory, Keeping.ALL, Duration.ofSeconds(100))) {
            WorkerProcess owner = keeping.start("owner");
            WorkerProcess user = keeping.start("user").awaitReady();
            owner.awaitReady();
            String early = command(user, "remote owner 2 3");
            String late = command(user, "remote owner 4 5");
            assertThat(command(user, "fetch " + early)).isEqualTo("5");
            assertThat(command(user, "fetch " + late)).isEqualTo("9");
            for (int incarnation = 2; incarnation <= 3; incarnation++) {
                owner.kill();
                owner = keeping.start("owner").awaitReady();
                assertThat(owner.epoch()).isEqualTo(incarnation);
                Waits.until(
                        "the first is there",
                        () -> command(user, "fetch " + early).equals("5"));
                Waits.until(
                        "the second is there",
                        () -> command(user, "fetch " + late).equals("9"));
            }
            command(user, "close " + early);
            command(user, "close " + late);
            awaitNothingLeft(user);
            awaitNothingLeft(owner);
            Path kept = keeping.worker(owner.id(), "owner").resolve(KeptValues.DIRECTORY);
            Waits.until("no file is left", () -> kept.toFile().list().length == 0);
        }
    }
}
