package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.waybill.api.handler.MessageHandler;
import org.junit.jupiter.api.Test;

class SystemPackagesTest {

    @Test
    void takesVersionsFromTheManifests() {
        assertThat(SystemPackages.exportedVersion(MessageHandler.class)).isEqualTo("1.0.0");
        assertThat(SystemPackages.exportedVersion(org.slf4j.Logger.class)).startsWith("2.");
        assertThat(SystemPackages.extra())
                .contains("io.waybill.api;version=\"1.0")
                .contains("io.waybill.api.journal;version=\"0.1")
                .contains("org.osgi.service.component.runtime;version=\"1.5");
    }

    @Test
    void exportsNothingElseOfTheNodes() {
        assertThat(SystemPackages.extra().split(","))
                .allMatch(clause ->
                        clause.matches("(io\\.waybill\\.api(\\.[a-z]+)?|org\\.slf4j.*|org\\.osgi\\..*);version=.*"));
    }

    @Test
    void refusesAPackageThatIsNotExported() {
        assertThatIllegalStateException()
                .isThrownBy(() -> SystemPackages.exportedVersion(org.agrona.DirectBuffer.class));
    }
}
