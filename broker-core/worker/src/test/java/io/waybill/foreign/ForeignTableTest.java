package io.waybill.foreign;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Storage;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every method that a bundle implements has its rows, so that a new one without any fails here, by its name. */
class ForeignTableTest {

    /** Rows that are elsewhere, or that make no sense, and why. */
    private static final Map<String, String> ELSEWHERE = new LinkedHashMap<>();

    static {
        ELSEWHERE.put("Storage.address", "the broker does not ask for the address of a storage on a device");
        ELSEWHERE.put("Storage.readAddress", "as address");
        ELSEWHERE.put("Storage.filePart", "asked by bundles, of the broker's own storages");
        ELSEWHERE.put("Storage.deviceAddress", "bundles ask each other for it, and the broker does not");
        ELSEWHERE.put("Storage.bytes", "the broker does not read a storage on a device");
        ELSEWHERE.put("LeavesLast.isInProgress", "asked when its bundle stops: NestedCallsUnderSwapsBundleTest");
        ELSEWHERE.put(
                "AccessPolicy.decidesControlCalls", "a hang holds the thread of its bundle: StuckStartBundleTest");
        ELSEWHERE.put("BundlePolicy.decide", "asked about jars, and not in a call: BundlePolicyBundleTest");
        ELSEWHERE.put("Storage.isLive", "not asked in a call, but for the value of a reference: StorageRowsTest");
    }

    private static Set<Row> rows() {
        return Stream.of(
                        InterceptorRowsTest.rows(),
                        HandlerRowsTest.handlers(),
                        HandlerRowsTest.selecting(),
                        HandlerRowsTest.listeners(),
                        HandlerRowsTest.policies(),
                        HandlerRowsTest.installedPolicies(),
                        DeviceRowsTest.converters(),
                        StorageRowsTest.storages(),
                        EventRowsTest.listeners(),
                        EventRowsTest.kinds(),
                        DeviceRowsTest.listeners(),
                        DeviceRowsTest.sharing(),
                        BrokerRowsTest.peers(),
                        BrokerRowsTest.losses(),
                        ToolRowsTest.commands())
                .flatMap(rows -> rows)
                .collect(Collectors.toSet());
    }

    @Test
    void everyMethodOfEveryExtensionPointHasRows() throws Exception {
        List<Class<?>> points = extensionPoints();
        assertThat(points).contains(MessageHandler.class, DeviceConverter.class, Storage.class);
        Set<Row> rows = rows();
        Set<String> missing = new TreeSet<>();
        Set<String> unknown = new TreeSet<>(ELSEWHERE.keySet());
        for (Class<?> point : points) {
            Row.of(point).forEach(row -> {
                String name = row.on().getSimpleName() + "." + row.method();
                unknown.remove(name);
                if (!rows.contains(row) && !ELSEWHERE.containsKey(name)) {
                    missing.add(row.toString());
                }
            });
        }
        assertThat(missing).as("methods of extension points without a row").isEmpty();
        assertThat(unknown)
                .as("methods that are said to be elsewhere, and don't exist")
                .isEmpty();
    }

    /** The interfaces that bundles implement, as their annotation says, and storages, which converters make. */
    private static List<Class<?>> extensionPoints() throws Exception {
        URI location = MessageHandler.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI();
        Path path = Path.of(location);
        if (Files.isDirectory(path)) {
            return extensionPoints(path);
        }
        try (FileSystem jar = FileSystems.newFileSystem(path, Map.of())) {
            return extensionPoints(jar.getPath("/"));
        }
    }

    private static List<Class<?>> extensionPoints(Path root) throws IOException, ClassNotFoundException {
        List<Path> files;
        try (Stream<Path> found = Files.walk(root)) {
            files = found.filter(file -> file.toString().endsWith(".class"))
                    .filter(file -> !file.toString().endsWith("package-info.class"))
                    .toList();
        }
        List<Class<?>> points = new java.util.ArrayList<>();
        points.add(Storage.class);
        for (Path file : files) {
            if (isConsumerType(file)) {
                String name = root.relativize(file).toString().replace('/', '.');
                Class<?> type = Class.forName(
                        name.substring(0, name.length() - ".class".length()),
                        false,
                        MessageHandler.class.getClassLoader());
                if (type.isInterface()) {
                    points.add(type);
                }
            }
        }
        return points;
    }

    private static boolean isConsumerType(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1)
                    .contains("Lorg/osgi/annotation/versioning/ConsumerType;");
        }
    }
}
