package org.acme.versions;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.RecordCodec;
import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The command in a real broker, whose other worker is no node. */
@Timeout(120)
class VersionsTest {

    private static final Path BUNDLE = Path.of("target/bundles/versions");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    @Test
    void showsTheBundlesOfTheNode(TestBroker broker) throws Exception {
        List<Value> shown = broker.command("versions");
        assertThat(shown)
                .hasSize(2)
                .last()
                .satisfies(line -> assertThat(((Value.Text) line).value())
                        .matches(TestBroker.SERVER + " +org.acme.versions +[0-9.]+ +ACTIVE"));

        List<Value> documents = broker.command("versions", "--json", "--bundle", "org.acme.versions");
        assertThat(documents).singleElement().satisfies(document -> {
            Versions.Row row = RecordCodec.decode(document, Versions.Row.class);
            assertThat(row.bundle()).isEqualTo("org.acme.versions");
            assertThat(row.state()).isEqualTo(BundleInfo.State.ACTIVE);
        });
        assertThat(broker.command("versions", "--json", "--bundle", "org.acme.none"))
                .isEmpty();
    }
}
