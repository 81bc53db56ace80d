package io.waybill.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What each check says about machines of other kinds: their files lie in a directory of the test. */
@Timeout(60)
class HostChecksTest {

    @TempDir
    private Path root;

    private final Diagnoses findings = new Diagnoses();

    private void file(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.write(file, content.getBytes(StandardCharsets.ISO_8859_1));
    }

    private Diagnosis found(String check) {
        return findings.all().stream()
                .filter(each -> each.check().equals(check))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + check + " in " + findings.all()));
    }

    private void assertFound(String check, Health verdict, String text, String advice) {
        assertThat(found(check).verdict()).isEqualTo(verdict);
        assertThat(found(check).found()).contains(text);
        assertThat(found(check).advice()).contains(advice);
    }

    @Test
    void warnsOfATightMachine() throws IOException {
        file("proc/sys/kernel/osrelease", "4.18.0-553.el8.x86_64\n");
        file("proc/self/cgroup", "0::/system.slice/waybill.service\n");
        file("sys/fs/cgroup/system.slice/waybill.service/cpu.max", "50000 100000\n");
        file(
                "proc/self/limits",
                "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024    2048   files\n"
                        + "Max locked memory   65536   65536   bytes\n");
        file("proc/sys/vm/max_map_count", "4096\n");
        file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
        file("proc/self/timens_offsets", "monotonic           0         0\nboottime            -3600         0\n");
        file("proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:    2097152 kB\n");
        HostCheck.run(findings, new HostFiles(root), 4);
        assertFound("kernel", Health.WARNING, "Linux 4.18.0", "5.3");
        assertFound("processors", Health.WARNING, "4 for this process, quota of its control group 0.50", "--cpus");
        assertFound("open files", Health.WARNING, "2048", "LimitNOFILE");
        assertFound("memory maps", Health.WARNING, "4096", "vm.max_map_count");
        assertFound("locked memory", Health.OK, "64 KiB at most", "");
        assertFound("clock", Health.WARNING, "hpet", "tsc");
        assertFound("time namespace", Health.OK, "its own", "");
        assertFound("memory", Health.OK, "2.0 GiB available", "");
        assertThat(findings.count(Health.MISSING)).isZero();
    }

    @Test
    void readsTheQuotaOfOlderControlGroupsAndOfTheRootOfAContainer() throws IOException {
        file("proc/self/cgroup", "7:blkio:/\n4:cpu,cpuacct:/docker/0123\n");
        file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
        file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        HostCheck.run(findings, new HostFiles(root), 2);
        assertFound("processors", Health.OK, "2 for this process, quota of its control group 1.50", "");
    }

    @Test
    void doesNotStumbleOverAMachineThatSaysNothing() throws IOException {
        file("proc/self/cgroup", "garbage\n0::\n");
        file("proc/self/limits", "Max open files\n");
        HostCheck.run(findings, new HostFiles(root), 2);
        assertFound("kernel", Health.WARNING, "unknown", "mount /proc");
        assertFound("processors", Health.OK, "no quota", "");
        assertFound("open files", Health.OK, "unknown", "");
        assertFound("time namespace", Health.OK, "the host's", "");
    }

    @Test
    void saysThatThereIsNoDriver() {
        NvidiaCheck.run(findings, new HostFiles(root));
        assertThat(findings.all()).hasSize(1);
        assertFound("nvidia driver", Health.NOTE, "none", "--gpus all");
    }

    @Test
    void findsDriverLibraryAndDevices() throws IOException {
        driver("535.183.01");
        file(
                "etc/ld.so.cache",
                "glibc-ld.so.cache1.1\0\u0003\u0004libcuda.so.1\0/opt/nvidia/lib/libcuda.so.1\0/lib/libm.so.6\0");
        file("opt/nvidia/lib/libcuda.so.1", "");
        file("dev/nvidia1", "");
        file("dev/nvidiactl", "");
        NvidiaCheck.run(findings, new HostFiles(root));
        assertFound("nvidia driver", Health.OK, "535.183.01", "");
        assertFound("libcuda.so.1", Health.OK, "/opt/nvidia/lib/libcuda.so.1", "");
        assertFound("/dev/nvidia1", Health.OK, "may be used: NVIDIA H100 PCIe", "");
        assertFound("/dev/nvidiactl", Health.OK, "may be used", "");
        assertFound("/dev/nvidia-uvm", Health.WARNING, "not there", "nvidia-modprobe");
        assertThat(findings.count(Health.MISSING)).isZero();
    }

    @Test
    void findsWhatIsMissingOfADriver() throws IOException {
        driver("470.256.02");
        file("etc/ld.so.cache", "\0/opt/gone/libcuda.so.1\0");
        NvidiaCheck.run(findings, new HostFiles(root));
        assertFound("nvidia driver", Health.WARNING, "470.256.02", "525");
        assertFound("libcuda.so.1", Health.WARNING, "not in the loader's cache", "ldconfig");
        assertFound("/dev/nvidia1", Health.WARNING, "not there: NVIDIA H100 PCIe", "give it the GPUs");
    }

    @Test
    void findsALibraryWithoutADriver() throws IOException {
        file("usr/lib64/libcuda.so.1", "");
        NvidiaCheck.run(findings, new HostFiles(root));
        assertFound("libcuda.so.1", Health.OK, "/usr/lib64/libcuda.so.1", "");
        assertFound("nvidia driver", Health.WARNING, "not loaded", "modprobe");
        assertFound("nvidia devices", Health.WARNING, "none", "lspci");
    }

    private void driver(String version) throws IOException {
        file(
                "proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version + "  Sun\nGCC\n");
        file(
                "proc/driver/nvidia/gpus/0000:41:00.0/information",
                "Model: \t\t NVIDIA H100 PCIe\nIRQ:   \t\t 42\nDevice Minor: \t 1\n");
    }

    @Test
    void refusesAHomeThatOthersCanRead() throws IOException {
        Path home = Files.createDirectory(root.resolve("home"));
        Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxr-xr-x"));
        HomeCheck.run(findings, new HostFiles(root), home, Host.real());
        assertFound("home", Health.MISSING, "found mode 0755", "chmod 700");
    }

    @Test
    void saysWhereTheHomeLies() throws IOException {
        HomeCheck.run(findings, new HostFiles(root), root.resolve("home"), Host.real());
        assertFound("home", Health.OK, "made by the first worker", "");
        assertFound("/dev/shm", Health.NOTE, "not there", "tmpfs");
        assertThat(found("disk space").found()).endsWith(" free");
        assertThat(found("file system").found()).isNotEmpty();
    }

    private Diagnoses ofDistribution(String java, String... options) {
        Diagnoses found = new Diagnoses();
        DistributionCheck.run(found, Optional.of(root), java + " in /opt/java", List.of(options));
        return found;
    }

    @Test
    void findsLibtorchAndTheClassArchive() throws IOException {
        String option = "-XX:SharedArchiveFile=/opt/waybill/lib/cds/java-17.0.15.jsa";
        DistributionCheck.run(findings, Optional.of(root), "17.0.15 in /opt/java", List.of());
        assertFound("libtorch", Health.NOTE, "no bundle torch-runtime", "full distribution");
        assertFound("class archive", Health.NOTE, "none", "waybill prepare");
        file("bundles/5/torch-runtime-0.1.0.jar", "");
        file("lib/cds/java-17.0.15.jsa", "");
        assertThat(ofDistribution("17.0.15", option).all().get(0).found()).contains("without libtorch_cpu.so");
        file("lib/native/libtorch_cpu.so", "");
        assertThat(ofDistribution("17.0.15", option).all())
                .extracting(Diagnosis::verdict)
                .containsOnly(Health.OK);
        file("lib/cds/java-25.0.1.jsa", ""); // which the launcher does not use there
        assertThat(ofDistribution("25.0.1").all())
                .extracting(Diagnosis::verdict)
                .containsExactly(Health.OK, Health.NOTE);
        file("lib/cds/java-25.0.1.aot", "");
        assertThat(ofDistribution("25.0.1", "-XX:AOTCache=/opt/waybill/lib/cds/java-25.0.1.aot")
                        .all())
                .extracting(Diagnosis::verdict)
                .containsOnly(Health.OK);
    }

    @Test
    void findsAClassArchiveThatTheLauncherDoesNotUse() throws IOException {
        file("lib/cds/java-17.0.15.jsa", "");
        assertThat(ofDistribution("17.0.15", "-Xmx1g").all()).anySatisfy(each -> {
            assertThat(each.found()).contains("java-17.0.15.jsa of another place, build or Java: not used");
            assertThat(each.verdict()).isEqualTo(Health.NOTE);
        });
    }
}
