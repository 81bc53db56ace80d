package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class ControlOperationsBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    private static Map<String, Value> path(Path jar) {
        return Map.of("path", Value.of(jar.toAbsolutePath().toString()));
    }

    private static Value get(Value dict, String name) {
        return ((Value.Dict) dict).entries().get(Value.of(name));
    }

    private List<Value> list(String operation, String field) {
        return ((Value.Items) node.call(operation, Map.of()).field(field)).values();
    }

    @Test
    void installsUpdatesStopsStartsAndUninstalls() throws Exception {
        Value installed = node.call("control:bundle.install", path(forge.responding("org.acme.count", "1.0.0", "one")))
                .field("bundle");
        assertThat(get(installed, "name")).isEqualTo(Value.of("org.acme.count"));
        assertThat(get(installed, "state")).isEqualTo(Value.of("ACTIVE"));
        assertThat(get(installed, "problem")).isEqualTo(Value.NONE);

        Value updated = node.call("control:bundle.update", path(forge.responding("org.acme.count", "2.0.0", "two")))
                .field("bundle");
        assertThat(get(updated, "version")).isEqualTo(Value.of("2.0.0"));
        assertThat(node.response()).isEqualTo("two");

        Map<String, Value> name = Map.of("name", Value.of("org.acme.count"));
        assertThat(get(node.call("control:bundle.stop", name).field("bundle"), "state"))
                .isEqualTo(Value.of("STOPPED"));
        assertThat(get(node.call("control:bundle.start", name).field("bundle"), "state"))
                .isEqualTo(Value.of("ACTIVE"));
        node.call("control:bundle.uninstall", name);
        assertThat(list("control:bundle.list", "bundles"))
                .extracting(bundle -> get(bundle, "name"))
                .doesNotContain(Value.of("org.acme.count"))
                .contains(Value.of("org.apache.felix.scr"));
    }

    @Test
    void listsHandlersWithTheirCounts() throws Exception {
        node.bundles().install(forge.responding("org.acme.count", "1.0.0", "one"));
        node.response();
        node.response();

        assertThat(list("control:handlers.list", "handlers"))
                .filteredOn(handler -> get(handler, "key").equals(Value.of("text.count")))
                .singleElement()
                .satisfies(handler -> {
                    assertThat(get(handler, "provider")).isEqualTo(Value.of("org.acme.count"));
                    assertThat(get(handler, "version")).isEqualTo(Value.of("1.0.0"));
                    assertThat(get(handler, "state")).isEqualTo(Value.of("SERVING"));
                    assertThat(get(handler, "done")).isEqualTo(Value.of(2));
                    assertThat(get(handler, "inFlight")).isEqualTo(Value.of(0));
                });
    }

    @Test
    void listsLeakedLoaders() {
        Map<String, Value> now = Map.of("seconds", Value.of(0));
        assertThat(node.call("control:loaders.leaked", now).field("loaders")).isEqualTo(Value.list());
    }

    @Test
    void respondsToARefusalWithItsText() {
        assertThatThrownBy(() -> node.call("control:bundle.stop", Map.of("name", Value.of("no.such"))))
                .hasCauseInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("no bundle no.such is installed");
        assertThatThrownBy(() -> node.call("control:bundle.install", Map.of("path", Value.of("relative.jar"))))
                .hasMessageContaining("must be absolute");
        assertThatThrownBy(() -> node.call("control:bundle.install", path(directory.resolve("none.jar"))))
                .hasMessageContaining("nothing is at");
    }
}
