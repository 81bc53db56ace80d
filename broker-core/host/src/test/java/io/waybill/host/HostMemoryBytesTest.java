package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostMemoryBytesTest {

    @TempDir
    private Path root;

    private void file(String name, String text) throws IOException {
        Path path = root.resolve(name);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    @Test
    void isThatOfTheHostWithoutALimit() throws IOException {
        file("proc/meminfo", "MemFree:  1 kB\nMemTotal:       24000 kB\n");
        file("proc/self/cgroup", "0::/user.slice/one\n");
        file("sys/fs/cgroup/user.slice/one/memory.max", "max\n");
        assertThat(HostProcesses.memoryBytes(root)).isEqualTo(24_000L << 10);
    }

    @Test
    void isTheLeastOfItsControlGroups() throws IOException {
        file("proc/meminfo", "MemTotal:       24000 kB\n");
        file("proc/self/cgroup", "0::/user.slice/one\n");
        file("sys/fs/cgroup/user.slice/one/memory.max", "9000000\n");
        file("sys/fs/cgroup/user.slice/memory.max", "8000000\n");
        assertThat(HostProcesses.memoryBytes(root)).isEqualTo(8_000_000);
    }

    @Test
    void isThatOfTheMountWhereTheGroupIsNotSeen() throws IOException {
        file("proc/meminfo", "MemTotal:       24000 kB\n");
        file("proc/self/cgroup", "5:memory,cpu:/docker/4711\n4:pids:/x\n");
        file("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000000\n");
        assertThat(HostProcesses.memoryBytes(root)).isEqualTo(7_000_000);
    }

    @Test
    void isAGuessWhereTheHostIsSilent() throws IOException {
        file("proc/self/cgroup", "0::/../../..\ngarbage\n");
        assertThat(HostProcesses.memoryBytes(root)).isEqualTo(8L << 30);
    }

    @Test
    void isReadHere() {
        assertThat(Host.memoryBytes()).isGreaterThan(64 << 20);
    }
}
