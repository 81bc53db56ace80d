package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class HostProcessesTest {
    private final Processes processes = Host.real().processes();
    private final ProcessIdentity self = processes.self();

    @Test
    void seesItselfAlive() {
        assertThat(self.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(processes.liveness(self)).isEqualTo(Liveness.ALIVE);
    }

    @Test
    void takesAnotherStartTimeForAnotherProcess() {
        assertThat(processes.liveness(like(self.pid(), self.startTime() + 2, self.bootId())))
                .isEqualTo(Liveness.DEAD);
    }

    @Test
    void takesAnotherBootForDeath() {
        assertThat(processes.liveness(like(self.pid(), self.startTime(), "an earlier boot")))
                .isEqualTo(Liveness.DEAD);
    }

    @Test
    void neverCallsWhatItCannotSeeDead() {
        ProcessIdentity elsewhere = new ProcessIdentity(1, 1, self.bootId(), "pid:[1]", self.uid());
        assertThat(processes.liveness(elsewhere)).isEqualTo(Liveness.UNKNOWN);
    }

    @Test
    void seesThatAProcessEnded() throws Exception {
        Process child = new ProcessBuilder("sleep", "60").start();
        ProcessIdentity identity = like(child.pid(), startTimeOf(child.pid()), self.bootId());
        assertThat(processes.liveness(identity)).isEqualTo(Liveness.ALIVE);

        try (ProcessWatch watch = processes.watch(identity)) {
            assertThat(watch).isInstanceOf(HostProcesses.PidFdWatch.class);
            assertThat(watch.liveness()).isEqualTo(Liveness.ALIVE);
            child.destroyForcibly();
            assertThat(child.waitFor(10, TimeUnit.SECONDS)).isTrue();
            assertThat(watch.liveness()).isEqualTo(Liveness.DEAD);
        }
        assertThat(processes.liveness(identity)).isEqualTo(Liveness.DEAD);
        try (ProcessWatch late = processes.watch(identity)) {
            assertThat(late.liveness()).isEqualTo(Liveness.DEAD);
        }
    }

    @Test
    void watchesWhatItCannotSeeWithoutCallingItDead() {
        ProcessIdentity elsewhere =
                new ProcessIdentity(self.pid(), self.startTime(), self.bootId(), "pid:[1]", self.uid());
        try (ProcessWatch watch = processes.watch(elsewhere)) {
            assertThat(watch.liveness()).isEqualTo(Liveness.UNKNOWN);
        }
    }

    @Test
    void countsAZombieAsDead() throws Exception {
        // sh starts a child, then becomes sleep, which never looks after it
        Process parent = new ProcessBuilder("sh", "-c", "sleep 0.2 & echo $!; exec sleep 60").start();
        try {
            byte[] line = new byte[32];
            int length = parent.getInputStream().read(line);
            long pid = Long.parseLong(new String(line, 0, length, StandardCharsets.US_ASCII).trim());
            ProcessIdentity child = like(pid, startTimeOf(pid), self.bootId());
            ProcessWatch watch = processes.watch(child);
            long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (processes.liveness(child) != Liveness.DEAD && System.nanoTime() < giveUp) {
                Thread.onSpinWait();
            }
            assertThat(processes.liveness(child)).isEqualTo(Liveness.DEAD);
            assertThat(watch.liveness()).isEqualTo(Liveness.DEAD);
            watch.close();
            assertThat(Path.of("/proc/" + pid)).exists();
        } finally {
            parent.destroyForcibly();
        }
    }

    @Test
    void readsFieldsBehindAnyName() throws IOException {
        byte[] stat = "7 (a) Z 1 (b)) S 3 4 5\n".getBytes(StandardCharsets.US_ASCII);
        assertThat(HostProcesses.field(stat, 3)).isEqualTo("S");
        assertThat(HostProcesses.field(stat, 6)).isEqualTo("5");
    }

    private ProcessIdentity like(long pid, long startTime, String bootId) {
        return new ProcessIdentity(pid, startTime, bootId, self.pidNamespace(), self.uid());
    }

    static long startTimeOf(long pid) throws IOException {
        byte[] stat = Files.readAllBytes(Path.of("/proc/" + pid + "/stat"));
        return Long.parseLong(HostProcesses.field(stat, 22));
    }

    @Test
    void letsACrowdOfJvmsCompileOnce() {
        assertThat(Processes.crowdOptions(5, 2, List.of("-Xmx1g"))).containsExactly("-XX:TieredStopAtLevel=1");
        assertThat(Processes.crowdOptions(4, 2, List.of("-Xmx1g"))).isEmpty();
    }

    @Test
    void letsACrowdOfJvmsThatHaveProfilesCompileASecondTimeLater() {
        List<String> cached = List.of("-XX:AOTCache=/opt/waybill/lib/cds/java-25.aot");
        assertThat(Processes.crowdOptions(4, 2, cached)).isEmpty();
        assertThat(Processes.crowdOptions(5, 2, cached))
                .contains("-XX:Tier2InvokeNotifyFreqLog=14", "-XX:MaxInlineLevel=9")
                .noneMatch(option -> option.startsWith("-XX:TieredStopAtLevel"));
    }

    @Test
    void knowsWhichOptionsThisJvmHas() {
        assertThat(HostProcesses.hasOption("-XX:MaxInlineLevel=9")).isTrue();
        assertThat(HostProcesses.hasOption("-XX:MaxInlineLevelOfALaterJvm=9")).isFalse();
    }
}
