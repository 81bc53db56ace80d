package io.waybill.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.testing.good.Count;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Each test gets a broker of its own, of which nothing is left. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class WaybillExtensionTest {

    private static Path home;

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(bundle());

    private static Path bundle() {
        try {
            return PackedBundles.of(Count.class, "1.0.0", Path.of("target"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @RepeatedTest(2)
    void givesATestItsBroker(TestBroker broker) {
        assertThat(broker.home()).isDirectory().isNotEqualTo(home);
        home = broker.home();
        Request request = broker.request("text.count");
        request.body().text("text", "to be or not to be");
        try (Response response = broker.call(request)) {
            assertThat(response.int64("words")).isEqualTo(6);
        }
    }

    @AfterAll
    static void nothingIsLeft() {
        assertThat(Files.exists(home)).isFalse();
    }
}
