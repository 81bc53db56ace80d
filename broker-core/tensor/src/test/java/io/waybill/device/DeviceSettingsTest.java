package io.waybill.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.tensor.Device;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceSettingsTest {

    private static final Device CPU = Device.CPU;
    private static final Device ZERO = Device.parse("toy:0");
    private static final Device ONE = Device.parse("toy:1");
    private static final Device TWO = Device.parse("toy:2");

    private static DeviceSettings settings(String devices, String maps) {
        return new DeviceSettings(DeviceSettings.parseDevices(devices), DeviceSettings.parseMaps(maps));
    }

    @Test
    void readsWhatItWrites() {
        DeviceSettings settings =
                settings(" toy:0, toy:1", "b cpu:0=toy:0 toy:0=toy:1;c:1-x  toy:1=cpu , toy:0=other:5 ");
        assertThat(settings.devices()).containsExactly(ZERO, ONE);
        assertThat(settings.maps())
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "b", Map.of(CPU, ZERO, ZERO, ONE), "c:1-x", Map.of(ONE, CPU, ZERO, Device.parse("other:5"))));
        assertThat(DeviceSettings.ofPublished(settings.published())).isEqualTo(settings);
        assertThat(settings("none", "none")).isEqualTo(DeviceSettings.NONE);
        assertThat(DeviceSettings.NONE.published()).isEmpty();
    }

    @Test
    void mergesMapsAndRefusesTwoTargets() {
        DeviceSettings merged =
                DeviceSettings.NONE.withMap("b", Map.of(ZERO, ONE)).withMap("b", Map.of(ONE, ZERO));
        assertThat(merged.maps().get("b")).isEqualTo(Map.of(ZERO, ONE, ONE, ZERO));
        assertThatThrownBy(() -> merged.withMap("b", Map.of(ZERO, TWO)))
                .hasMessage("a device map only supports 1-to-1 mapping, trying to map toy:0 to toy:1 and toy:2");
        assertThatThrownBy(() -> DeviceSettings.parseMaps("b toy:0=toy:2 toy:1=toy:2"))
                .hasMessage("a device map only supports 1-to-1 mapping, trying to map toy:0 and toy:1 to toy:2");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "toy:0 toy:0 | none | Node a has duplicated devices: toy:0 toy:0",
                "toy:0 toy | none | Node a has devices with invalid indices: toy:0 toy",
                "cpu | none | Node a has devices with invalid indices: cpu",
                "none | bad/name toy:0=toy:0 | Node a has invalid target node names in its device maps",
                "none | b toy:0=toy:0; b toy:1=toy:0 | Node a has duplicated target devices in its device map for b: toy:0=toy:0 toy:1=toy:0",
                "none | b toy=toy:0 | Node a has source devices with invalid indices in its device map for b",
                "none | b toy:0=toy | Node a has target devices with invalid indices in its device map for b",
                "toy:0 | b toy:1=toy:0 | Node a has unexpected source devices in its device map for b: toy:1=toy:0; its devices are toy:0",
                "toy:0 | b toy:0=toy:7 cpu=toy:1 | -",
            })
    void checksWhatNeedsNoPeer(String devices, String maps, String text) {
        DeviceSettings settings = settings(devices, maps);
        if (text == null) {
            settings.require("a");
        } else {
            assertThatThrownBy(() -> settings.require("a"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(text);
        }
    }

    @Test
    void reportsAllMistakesAtOnce() {
        assertThatThrownBy(() ->
                        settings("toy:0 toy:0", "b toy=toy:0; c toy:0=toy").require("a"))
                .hasMessageContainingAll("duplicated devices", "device map for b", "device map for c");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "b",
                "b toy:0",
                "b toy:0=",
                "b =toy:0",
                "b TOY:0=toy:1",
                "b toy:0=toy:128",
                "b toy:0=toy:-2",
                "; b"
            })
    void refusesWhatIsNoMap(String text) {
        assertThatThrownBy(() -> DeviceSettings.parseMaps(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void refusesIndicesBelowZero() {
        for (String map : List.of("b toy:-2=toy:0", "b toy:0=toy:-2")) {
            assertThatThrownBy(() -> DeviceSettings.parseMaps(map))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a device index is from 0 to 127: -2");
        }
    }

    private static PeerRoutes routes(DeviceSettings own, Map<String, String> published) {
        PeerRoutes routes = new PeerRoutes("a", own, "b");
        routes.declared(published);
        return routes;
    }

    @Test
    void mapsRequestsForwardAndResponsesBack() {
        PeerRoutes routes = routes(
                settings("none", "b toy:0=toy:1 cpu=toy:0"),
                settings("none", "a toy:0=toy:2 toy:1=cpu").published());
        assertThat(routes.requests().target(ZERO)).isEqualTo(ONE);
        assertThat(routes.requests().target(Device.parse("cpu:0"))).isEqualTo(ZERO);
        assertThat(routes.responses().target(TWO)).isEqualTo(ZERO);
        assertThat(routes.responses().target(CPU))
                .as("the reverse of toy:1=cpu")
                .isEqualTo(ONE);
        assertThatThrownBy(() -> routes.requests().target(ONE))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_UNMAPPED))
                .hasMessage("Request device mapping is not available for destination b for device toy:1 but received a"
                        + " tensor on that device.");
        assertThatThrownBy(() -> routes.responses().target(ONE))
                .hasMessageStartingWith("Response device mapping is not available for destination b for device toy:1");
    }

    @Test
    void withoutAMapHostMemoryIsSentAlone() {
        PeerRoutes routes = new PeerRoutes("a", DeviceSettings.NONE, "b");
        assertThat(routes.requests().target(CPU)).isEqualTo(CPU);
        assertThat(routes.responses().target(CPU)).isEqualTo(CPU);
        assertThatThrownBy(() -> routes.requests().target(ZERO))
                .hasMessageContainingAll(
                        "only CPU tensors are sent by default",
                        "Request device mapping is not available for destination b, but found tensor on device: toy:0");
        assertThatThrownBy(() -> routes.responses().target(ZERO))
                .hasMessageContaining("Response device mapping is not available for destination b");
    }

    @Test
    void checksTheDevicesOfThePeerInBothDirections() {
        DeviceSettings own = settings("toy:0 toy:1", "b toy:0=toy:5 cpu=toy:6");
        Map<String, String> published = settings("toy:0 toy:1", "a toy:0=toy:9").published();
        PeerRoutes routes = routes(own, published);
        assertThatThrownBy(() -> routes.requests().target(ZERO))
                .hasMessageContaining("Node a has unexpected target devices in its device map for b: toy:0=toy:5"
                        + " cpu=toy:6; the devices of b are toy:0 toy:1");
        assertThatThrownBy(() -> routes.requests().target(CPU))
                .as("cpu is mapped, too")
                .hasMessageContaining("toy:6");
        assertThatThrownBy(() -> routes.responses().target(ONE))
                .hasMessageContaining("Node b has unexpected target devices in its device map for a: toy:0=toy:9");
        assertThat(routes.responses().target(CPU)).isEqualTo(CPU);
        assertThatThrownBy(() -> PeerRoutes.require("a", own, "b", published))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Node a has unexpected target devices");

        routes.declared(settings("toy:5 toy:6", "none").published());
        assertThat(routes.requests().target(ZERO)).as("another incarnation").isEqualTo(Device.parse("toy:5"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"###", "a toy:0=toy:0 toy:1=toy:0", "a toy:0", "a toy:0=toy:0; a toy:1=toy:0"})
    void doesNotTrustWhatAPeerDeclares(String maps) {
        PeerRoutes routes = routes(settings("none", "b toy:0=toy:1"), Map.of(DeviceSettings.MAPS, maps));
        assertThatThrownBy(() -> routes.responses().target(ZERO)).isInstanceOf(CallException.class);
        assertThat(routes.responses().target(CPU)).isEqualTo(CPU);
        PeerRoutes long1 = routes(DeviceSettings.NONE, Map.of(DeviceSettings.DEVICES, "toy:0 ".repeat(10_000)));
        assertThatThrownBy(() -> long1.requests().target(ZERO)).hasMessageContaining("can't be read");
        assertThat(List.of(long1.requests().target(CPU))).containsExactly(CPU);
    }
}
