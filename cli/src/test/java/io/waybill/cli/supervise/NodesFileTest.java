package io.waybill.cli.supervise;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class NodesFileTest {

    @TempDir
    Path directory;

    private NodesFile read(String text) throws IOException {
        return NodesFile.read(Files.writeString(directory.resolve("nodes.properties"), text));
    }

    @Test
    void readsEverySetting() throws IOException {
        NodesFile file = read("""
                nodes = a, b
                node.a.conf = settings/a
                node.a.shipped = io.waybill.torch-runtime, io.waybill.script-ops
                node.a.bundles = /srv/bundles
                node.a.waiting = low-cpu
                node.a.jvm-options = -Xmx2g -Dx=y
                restart.first-wait = 1s
                restart.longest-wait = 1m
                restart.steady-after = 5m
                """);

        assertThat(file.nodes())
                .containsExactly(
                        new NodePlan(
                                "a",
                                directory.resolve("settings/a"),
                                List.of(
                                        "--bundles",
                                        "/srv/bundles",
                                        "--shipped",
                                        "io.waybill.torch-runtime, io.waybill.script-ops",
                                        "--waiting",
                                        "low-cpu"),
                                List.of("-Xmx2g", "-Dx=y")),
                        new NodePlan("b", directory, List.of(), List.of()));
        assertThat(file.restarts())
                .isEqualTo(new RestartSettings(Duration.ofSeconds(1), Duration.ofMinutes(1), Duration.ofMinutes(5)));
    }

    @Test
    void namesAllMistakesAtOnce() {
        assertThatThrownBy(() -> read("""
                        nodes = a b/c a
                        node.a.waiting = sleepy
                        node.a.shipped = torch,,ops
                        node.d.conf = d
                        restart.first-wait = 1m
                        """))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(directory.resolve("nodes.properties") + ": ")
                .hasMessageContaining("nodes: Worker name must match")
                .hasMessageContaining("nodes: a stands there twice")
                .hasMessageContaining("node.a.waiting: expected one of spin, balanced, low-cpu, found 'sleepy'")
                .hasMessageContaining("node.a.shipped: expected all, none, or symbolic names")
                .hasMessageContaining("restart.longest-wait must not be below restart.first-wait")
                .hasMessageContaining("there is no setting node.d.conf; there are node.a.bundles, node.a.conf");
    }

    @Test
    void refusesAFileWithoutNodes() {
        assertThatThrownBy(() -> read("# none\n")).hasMessageContaining("expected the names of 1 to 1000 nodes");
        assertThatThrownBy(() -> NodesFile.read(directory.resolve("none"))).isInstanceOf(NoSuchFileException.class);
        assertThatThrownBy(() -> NodesFile.read(directory)).hasMessageContaining("expected a regular file");
    }

    @Test
    void theDistributionsFileGivesNativeCodeANodeOfItsOwn() throws IOException {
        String shipped = Files.readString(Path.of("../felix-config/src/main/conf/nodes.properties"));
        NodesFile file = read(shipped.replaceAll("(?m)^#(?=[a-z]+\\.)", ""));

        assertThat(file.restarts()).isEqualTo(RestartSettings.DEFAULTS);
        assertThat(file.nodes()).extracting(NodePlan::name).containsExactly("ops", "main");
        assertThat(file.nodes().get(0).options())
                .containsExactly("--shipped", "io.waybill.torch-runtime, io.waybill.script-ops, io.waybill.autograd");
        assertThat(file.nodes().get(1).options()).containsExactly("--shipped", "none");
    }

    @Test
    void startsANodeWithItsOptions() {
        NodePlan plan = new NodePlan("a", directory, List.of("--waiting", "spin"), List.of("-Xmx2g", "-Xss1m"));

        ProcessBuilder builder = plan.process(
                Path.of("/opt/waybill"),
                Path.of("/srv/home"),
                Map.of("WAYBILL_JAVA_OPTS", "-Da=b"),
                List.of("-XX:TieredStopAtLevel=1"));

        assertThat(builder.command())
                .containsExactly(
                        "/opt/waybill/bin/waybill",
                        "node",
                        "--name",
                        "a",
                        "--home",
                        "/srv/home",
                        "--conf",
                        directory.toString(),
                        "--supervised",
                        "--waiting",
                        "spin");
        assertThat(builder.environment())
                .containsEntry("WAYBILL_JAVA_OPTS", "-XX:TieredStopAtLevel=1 -Da=b -Xmx2g -Xss1m");
    }
}
