package io.waybill.syscall;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.journal.Durability;
import io.waybill.process.SyscallFaults.Extent;
import io.waybill.process.SyscallFaults.Failing;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import jnr.constants.platform.Errno;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A worker whose n-th system call of a kind fails, once or from then on. */
@Timeout(1200)
class SyscallFaultsSystemTest {

    private static final List<Failing> SYNCS = List.of(failing("fdatasync", Errno.EIO), failing("fsync", Errno.EIO));
    private static final List<Failing> OTHERS = List.of(
            failing("open", Errno.EMFILE),
            failing("fallocate", Errno.ENOSPC),
            failing("ftruncate", Errno.EIO),
            failing("rename", Errno.EIO),
            failing("unlink", Errno.EIO),
            failing("mkdir", Errno.ENOSPC),
            failing("mmap", Errno.ENOMEM),
            failing("pread", Errno.EIO),
            failing("pwrite", Errno.ENOSPC),
            failing("write", Errno.ENOSPC),
            failing("clone", Errno.EAGAIN));

    @TempDir
    private Path directory;

    private static Failing failing(String call, Errno errno) {
        return new Failing(call, errno.intValue());
    }

    private static List<Failing> all() {
        List<Failing> all = new ArrayList<>(OTHERS);
        all.addAll(SYNCS);
        return all;
    }

    @Test
    void blamesNoPeerForItsOwnLackOfMemory() throws Exception {
        Path home = directory.resolve("home");
        try (Subject subject = new Subject(directory.resolve("faults"));
                Member old = Member.join(home, "old", Durability.PROCESS)) {
            assertThat(subject.join(home, Durability.PROCESS)).isEqualTo("joined");
            subject.faults()
                    .arm(failing("mmap", Errno.ENOMEM), 1, Extent.ALL_FROM, "match=" + home + "/workers/0-old/*");
            Tally refused = subject.calls("old", 1);
            assertThat(subject.faults().failed())
                    .as("mappings of the peer's files")
                    .isNotEmpty();
            assertThat(refused.outcomes()).as(refused.toString()).containsOnly("RESOURCE_UNAVAILABLE");
            assertThat(refused.text("RESOURCE_UNAVAILABLE")).contains("ENOMEM", "0-old");
            subject.faults().disarm();
            Waits.until(subject::log, () -> subject.calls("old", 1).count(Tally.OK) == 1);
            assertThat(old.calls(SubjectMain.NAME, 1).count(Tally.OK)).isOne();
            assertThat(subject.leave()).isEqualTo("ended");
        }
    }

    @Test
    void keepsItsPeersWhileItCanOpenNoFile() throws Exception {
        Path home = directory.resolve("home");
        try (Subject subject = new Subject(directory.resolve("faults"));
                Member old = Member.join(home, "old", Durability.PROCESS)) {
            assertThat(subject.join(home, Durability.PROCESS)).isEqualTo("joined");
            assertThat(subject.calls("old", 1).count(Tally.OK)).isOne();
            assertThat(old.calls(SubjectMain.NAME, 1).count(Tally.OK)).isOne();
            subject.faults().arm(failing("open", Errno.EMFILE), 1, Extent.ALL_FROM, "match=*.cq4");
            Waits.until(
                    "its housekeeper has looked at the files of peers",
                    () -> subject.faults().failed().size() > 10);
            Tally served = subject.calls("old", 10);
            assertThat(served.outcomes()).as(served.toString()).containsOnly(Tally.OK);
            assertThat(old.calls(SubjectMain.NAME, 10).count(Tally.OK)).isEqualTo(10);
            subject.faults().disarm();
            assertThat(subject.leave()).isEqualTo("ended");
        }
    }

    /** Chronicle by itself opens a queue only to read when its table can't be written, and so hides the error. */
    @Test
    void doesNotCallItsOwnFilesDamagedWhenItCanNotWriteThem() throws Exception {
        Path home = directory.resolve("home");
        Files.createDirectories(directory);
        try (Subject subject = new Subject(directory.resolve("faults"))) {
            subject.faults().arm(failing("ftruncate", Errno.EIO), 1, Extent.ONE, "match=*/responses/metadata.cq4t");
            assertThat(subject.join(home, Durability.PROCESS))
                    .startsWith("failed")
                    .contains("the responses of worker subject can't be opened", "EIO", "its files are not damaged");
            subject.faults().disarm();
            assertThat(subject.join(home, Durability.PROCESS)).isEqualTo("joined");
            assertThat(subject.leave()).isEqualTo("ended");
        }
    }

    @Test
    void holdsAtOneCallOfEachKind() throws Exception {
        try (FaultRun run = new FaultRun(directory, new WorkerScenario())) {
            assertThat(sample(run, Durability.PROCESS, 1, List.of(Extent.ONE), all()))
                    .isEmpty();
        }
    }

    @Test
    @Tag("ci")
    void holdsAtSomeCallsOfEachKind() throws Exception {
        try (FaultRun run = new FaultRun(directory, new WorkerScenario())) {
            assertThat(sample(run, Durability.EACH, 2, List.of(Extent.values()), all()))
                    .isEmpty();
        }
    }

    @Test
    @Tag("ci")
    void holdsAtOneCallOfEachKindForBundles() throws Exception {
        try (FaultRun run = new FaultRun(directory, new BundleScenario(directory))) {
            assertThat(sample(run, Durability.PROCESS, 1, List.of(Extent.ONE), all()))
                    .isEmpty();
        }
    }

    /** Fails some calls of each kind, spread over the scenario. Returns what was wrong. */
    private static List<Verdict> sample(
            FaultRun run, Durability durability, int each, List<Extent> extents, List<Failing> calls) throws Exception {
        Map<String, Long> counts = run.counts(durability);
        List<Verdict> wrong = new ArrayList<>();
        for (Failing failing : calls) {
            long count = counts.getOrDefault(failing.call(), 0L);
            for (int i = 0; i < each; i++) {
                for (Extent extent : count == 0 ? List.<Extent>of() : extents) {
                    long nth = Math.max(1, count * (2 * i + 1) / (2 * each));
                    Verdict verdict = run.run(new FaultCase(durability, failing, nth, extent));
                    System.out.println(verdict);
                    if (!verdict.problems.isEmpty()) {
                        wrong.add(verdict);
                    }
                }
            }
        }
        return wrong;
    }

    /**
     * All n, which takes hours: {@code -Dwaybill.syscalls=open,mmap} for those of these calls, {@code all} for all;
     * {@code waybill.syscalls.first}, {@code .step}: which n; {@code .each}: at most so many of each call for files of a kind, spread over the
     * scenario; {@code .scenario}: {@code bundles} for installs and updates in a framework; {@code .directory}: where the logs of cases with
     * problems stay.
     */
    @Test
    @EnabledIfSystemProperty(named = "waybill.syscalls", matches = ".+")
    @Timeout(36_000)
    void holdsAtEachCall() throws Exception {
        List<String> names = List.of(System.getProperty("waybill.syscalls").split(","));
        int step = Integer.getInteger("waybill.syscalls.step", 1);
        int first = Integer.getInteger("waybill.syscalls.first", 1);
        int each = Integer.getInteger("waybill.syscalls.each", Integer.MAX_VALUE);
        Path kept = Path.of(System.getProperty("waybill.syscalls.directory", directory.toString()));
        List<Verdict> wrong = new ArrayList<>();
        boolean ofBundles = System.getProperty("waybill.syscalls.scenario", "").equals("bundles");
        Scenario scenario = ofBundles ? new BundleScenario(kept) : new WorkerScenario();
        try (FaultRun run = new FaultRun(kept, scenario)) {
            for (Durability durability : List.of(Durability.PROCESS, Durability.EACH)) {
                System.out.println(durability + " " + run.counts(durability));
                Map<String, List<Long>> asked = run.spread(each);
                for (Failing failing : all()) {
                    boolean isAsked = names.contains("all") || names.contains(failing.call());
                    List<Long> all = isAsked ? asked.getOrDefault(failing.call(), List.of()) : List.of();
                    System.out.println(failing + " " + all.size() + " of them");
                    for (int i = first - 1; i < all.size(); i += step) {
                        wrong.addAll(both(run, durability, failing, all.get(i)));
                    }
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    private static List<Verdict> both(FaultRun run, Durability durability, Failing failing, long nth) throws Exception {
        List<Verdict> wrong = new ArrayList<>();
        for (Extent extent : Extent.values()) {
            Verdict verdict = run.run(new FaultCase(durability, failing, nth, extent));
            System.out.println(verdict);
            System.out.flush();
            if (!verdict.problems.isEmpty()) {
                wrong.add(verdict);
            }
        }
        return wrong;
    }
}
