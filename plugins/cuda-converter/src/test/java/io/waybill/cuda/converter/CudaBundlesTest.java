package io.waybill.cuda.converter;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.standin.StandIn;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.host.Host;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The two bundles in a real framework, and the converter's updated while tensors are in flight. */
@Timeout(900)
class CudaBundlesTest {

    private static final Path SYSTEM_BUNDLES = Path.of("target/system-bundles");
    private static final int UPDATES = 50;
    private static final int IN_FLIGHT = 4;
    private static final int SIZE = 100_000;

    @TempDir
    private Path directory;

    /** Packs what a class comes from as a bundle of some version. */
    private Path bundle(Class<?> type, int version) throws Exception {
        Map<String, byte[]> content = content(type);
        Manifest manifest = manifest(content);
        manifest.getMainAttributes().put(new Attributes.Name("Bundle-Version"), "0.1." + version);
        content.remove(JarFile.MANIFEST_NAME);
        Path jar = Files.createTempFile(directory, "bundle-", ".jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest)) {
            for (Map.Entry<String, byte[]> each : content.entrySet()) {
                out.putNextEntry(new JarEntry(each.getKey()));
                out.write(each.getValue());
                out.closeEntry();
            }
        }
        return jar;
    }

    /** The files of what a class comes from: a directory, or a jar in a build that has packed it. */
    private static Map<String, byte[]> content(Class<?> type) throws Exception {
        Path from =
                Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        Map<String, byte[]> content = new TreeMap<>();
        try (FileSystem jar = Files.isRegularFile(from) ? FileSystems.newFileSystem(from) : null) {
            Path root = jar == null ? from : jar.getPath("/");
            try (Stream<Path> files = Files.walk(root)) {
                for (Path each : files.filter(Files::isRegularFile).toList()) {
                    content.put(root.relativize(each).toString(), Files.readAllBytes(each));
                }
            }
        }
        return content;
    }

    private static Manifest manifest(Map<String, byte[]> content) throws IOException {
        return new Manifest(new ByteArrayInputStream(content.get(JarFile.MANIFEST_NAME)));
    }

    private OsgiHost framework(Worker worker, StandIn driver) throws IOException {
        Host host = Host.real();
        Path node = Files.createDirectory(directory.resolve("node"));
        OsgiSettings settings = OsgiSettings.builder(
                        SYSTEM_BUNDLES, node.resolve("watched"), node, node.resolve("conf"))
                .framework(Map.of(CudaNatives.DRIVER_PROPERTY, driver.library().toString()))
                .limits(Duration.ofSeconds(120), Duration.ofSeconds(120), Duration.ofSeconds(120))
                .build();
        return OsgiHost.start(
                settings,
                new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock()),
                DeviceConverters.into(worker.devices()),
                worker.interceptors(),
                Optional.of(worker.brokers()),
                host);
    }

    @Test
    void importsTheApiAndJCudaAlone() throws Exception {
        String imports =
                manifest(content(CudaConverter.class)).getMainAttributes().getValue("Import-Package");
        assertThat(Arrays.stream(imports.replaceAll("\"[^\"]*\"", "").split(",")))
                .isNotEmpty()
                .allMatch(each -> each.startsWith("io.waybill.api") || each.matches("jcuda(\\.driver)?;.*"));
    }

    @Test
    void losesNothingWhileTheBundleIsUpdated() throws Exception {
        StandIn driver = StandIn.ofThisJvm();
        driver.reset();
        driver.set("devices", 2);
        Path home = directory.resolve("home");
        try (Worker server = Waybill.connect(home, "server")
                        .with("cuda.echo", (message, outbox) -> {
                            message.tensors().forEach(tensor -> tensor.storage().retain());
                            String device = message.tensors().get(0).device().toString();
                            outbox.respond(ByteBuffer.wrap(device.getBytes()), message.tensors());
                        })
                        .join();
                Worker caller = Waybill.connect(home, "caller")
                        .deviceMap("server", Map.of(Device.CPU, Device.parse("cuda:1")))
                        .join();
                OsgiHost osgi = framework(server, driver)) {
            osgi.bundles().install(bundle(CudaNatives.class, 0));
            osgi.bundles().install(bundle(CudaConverter.class, 0));
            AtomicBoolean ends = new AtomicBoolean();
            AtomicInteger rounds = new AtomicInteger();
            CompletableFuture<Void> load = CompletableFuture.runAsync(() -> {
                while (!ends.get()) {
                    round(caller);
                    rounds.incrementAndGet();
                }
            });
            for (int version = 1; version <= UPDATES; version++) {
                int before = rounds.get();
                osgi.bundles().update(bundle(CudaConverter.class, version));
                Waits.until("calls go on", () -> rounds.get() > before || load.isDone());
            }
            ends.set(true);
            load.join();
            Waits.until("no version can be reached but the last one", () -> {
                System.gc();
                return osgi.loaders().leaked(Duration.ZERO).isEmpty();
            });
        }
        assertThat(driver.nonZero("live_")).isEmpty();
        assertThat(driver.nonZero("violations")).isEmpty();
    }

    private static void round(Worker caller) {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < IN_FLIGHT; i++) {
            Tensor tensor = Tensor.contiguous(
                    DType.UINT8, new long[] {SIZE}, caller.buffers().allocate(SIZE));
            tensor.storage().bytes(SIZE - 1, 1).put(0, (byte) i);
            Request request = Request.operation("server", "cuda.echo").timeout(Duration.ofSeconds(120));
            request.body().tensor("t", tensor);
            calls.add(caller.callAsync(request));
            tensor.storage().release();
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            try (Response response = calls.get(i).join()) {
                byte[] device = new byte[response.payload().remaining()];
                response.payload().get(device);
                assertThat(new String(device)).isEqualTo("cuda:1");
                Tensor back = response.tensors().get(0);
                assertThat(back.device()).isEqualTo(Device.CPU);
                assertThat(back.storage().bytes(SIZE - 1, 1).get(0)).isEqualTo((byte) i);
            }
        }
    }
}
