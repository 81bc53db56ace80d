package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Joining with real processes, which are killed. */
@Timeout(120)
class JoinSystemTest {
    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    private Home home;

    @BeforeEach
    void openHome() throws IOException {
        home = Home.open(dir.resolve("home"), HOST);
    }

    @Test
    void refusesAUserWhoIsNotMapped() throws Exception {
        assumeThat(run(List.of("unshare", "--user", "true")))
                .as("why there can't be a user namespace")
                .isEmpty();
        List<String> unmapped = new ArrayList<>(List.of("unshare", "--user"));
        unmapped.addAll(JoinedProcess.command(dir.resolve("unmapped")));
        assertThat(run(unmapped)).contains("stands for every user unknown to this user namespace");
    }

    private static String run(List<String> command) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close(); // the end of its input
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor();
            return output;
        } catch (IOException e) { // there is no such program
            return e.getMessage();
        }
    }

    @Test
    void hasOneWinnerAmongManyProcesses() throws IOException {
        List<JoinedProcess> processes = new ArrayList<>();
        try {
            for (int i = 0; i < 5; i++) {
                processes.add(JoinedProcess.start(home.path()));
            }
            for (JoinedProcess process : processes) {
                process.awaitReady();
            }
            for (int i = 0; i < processes.size(); i++) {
                processes.get(i).say("shared\nown-" + i);
            }
            int winners = 0;
            List<String> ownIds = new ArrayList<>();
            for (JoinedProcess process : processes) {
                winners += process.response().startsWith("joined ") ? 1 : 0;
                ownIds.add(process.response());
            }
            assertThat(winners).isEqualTo(1);
            assertThat(ownIds).allMatch(response -> response.startsWith("joined "));
            assertThat(new HashSet<>(ownIds)).hasSize(processes.size());
        } finally {
            processes.forEach(JoinedProcess::close);
        }
        Membership membership = new Membership(home);
        membership.refresh();
        assertThat(membership.members().all()).hasSize(6);
    }

    @Test
    void takesOverFromAKilledProcess() throws Exception {
        Membership membership = new Membership(home);
        long pid;
        try (JoinedProcess process = JoinedProcess.start(home.path()).awaitReady()) {
            process.say("ps0");
            assertThat(process.response()).isEqualTo("joined 0 1");
            membership.refresh();
            assertThat(membership.members().find("ps0").orElseThrow().state()).isEqualTo(PeerState.READY);
            assertThatThrownBy(() -> home.join("ps0"))
                    .isInstanceOf(NameTakenException.class)
                    .hasMessageContaining("is taken: pid " + process.pid() + " has it since");
            pid = process.pid();
            process.killHard();
        }
        membership.refresh();
        assertThat(membership.members().find(0).orElseThrow().state()).isEqualTo(PeerState.DEAD);
        try (WorkerDirectory worker = home.join("ps0")) {
            assertThat(worker.id()).isZero();
            assertThat(worker.epoch()).isEqualTo(2);
            assertThat(worker.previous().orElseThrow().process().pid()).isEqualTo(pid);
            assertThat(worker.previous().orElseThrow().state()).isEqualTo(WorkerState.READY);
            assertThat(worker.cursors().origin()).isEqualTo(Cursors.Origin.KEPT);
        }
    }

    @Test
    void takesOverFromAZombie() throws Exception {
        try (JoinedProcess process = JoinedProcess.startUnattended(home.path()).awaitReady()) {
            process.say("ps0");
            assertThat(process.response()).isEqualTo("joined 0 1");
            process.killHard();
            try (WorkerDirectory worker = home.join("ps0")) {
                assertThat(worker.epoch()).isEqualTo(2);
                assertThat(Path.of("/proc/" + process.pid() + "/stat")).exists(); // still unreaped
            }
        }
    }

    @Test
    void takesANameThatWasLeft() throws Exception {
        try (JoinedProcess process = JoinedProcess.start(home.path()).awaitReady()) {
            process.say("ps0");
            assertThat(process.response()).isEqualTo("joined 0 1");
            process.say("leave");
            // it may still be leaving: joining waits for that
            Membership membership = new Membership(home);
            long giveUp = System.nanoTime() + 20_000_000_000L;
            while (System.nanoTime() < giveUp
                    && membership.members().find("ps0").map(Peer::state).orElse(PeerState.STARTING) != PeerState.LEFT) {
                membership.refresh();
            }
            try (WorkerDirectory worker = home.join("ps0")) {
                assertThat(worker.epoch()).isEqualTo(2);
                assertThat(worker.previous().orElseThrow().state()).isEqualTo(WorkerState.LEFT);
            }
        }
    }
}
