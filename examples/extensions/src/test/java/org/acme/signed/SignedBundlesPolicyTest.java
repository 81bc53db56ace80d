package org.acme.signed;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The policy in a real broker. */
@Timeout(120)
class SignedBundlesPolicyTest {

    private static final Path BUNDLE = Path.of("target/bundles/signed");

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(BUNDLE);

    @Test
    void refusesAJarWithoutASignature(TestBroker broker) {
        assertThatThrownBy(() -> broker.upgrade(BUNDLE))
                .hasMessageContainingAll("org.acme.signed", "the jar is not signed");
    }
}
