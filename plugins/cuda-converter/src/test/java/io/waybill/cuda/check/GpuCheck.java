package io.waybill.cuda.check;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import io.waybill.cuda.CudaNatives;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.JCudaDriver;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs the tests tagged {@code gpu} and the benchmark on the machine's own driver, and writes one JSON report.
 * Arguments: {@code [REPORT [MEGABYTES,… [ROUNDS]]]}. Exits with 1 when a test fails or CUDA is unavailable. Its files are left in {@code java.io.tmpdir}.
 */
public final class GpuCheck {

    private static final int FORMAT = 1;
    private static final int NAME_BYTES = 256;

    private GpuCheck() {}

    public static void main(String[] args) throws IOException {
        Path report = Path.of(args.length > 0 ? args[0] : "gpu-check.json");
        int[] megabytes = Stream.of((args.length > 1 ? args[1] : "16,64,256").split(","))
                .mapToInt(Integer::parseInt)
                .toArray();
        int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 50;
        System.setProperty(Driver.REAL_PROPERTY, "true");
        Path directory = Files.createTempDirectory("waybill-gpu-check-");
        if (System.getProperty(CudaNatives.DIRECTORY_PROPERTY) == null) {
            CudaNatives.configure(
                    directory.resolve("natives").toString(), System.getProperty(CudaNatives.DRIVER_PROPERTY, ""));
        }
        boolean passed;
        try (OutputStream out = Files.newOutputStream(report);
                JsonGenerator json = new JsonFactory().createGenerator(out)) {
            json.setPrettyPrinter(new DefaultPrettyPrinter());
            passed = write(json, directory, megabytes, rounds);
        }
        System.out.println(Files.readString(report));
        System.exit(passed ? 0 : 1);
    }

    private static boolean write(JsonGenerator json, Path directory, int[] megabytes, int rounds) throws IOException {
        json.writeStartObject();
        json.writeNumberField("format", FORMAT);
        json.writeStringField("at", Instant.now().toString());
        json.writeStringField("java", System.getProperty("java.vm.version"));
        json.writeStringField("kernel", System.getProperty("os.version"));
        json.writeNumberField("processors", Runtime.getRuntime().availableProcessors());
        String error = "";
        boolean passed = false;
        try {
            writeDevices(json);
            passed = writeTests(json);
            writeBenchmark(json, GpuBenchmark.run(directory.resolve("home"), megabytes, rounds));
            String driver = System.getProperty(CudaNatives.DRIVER_PROPERTY, "");
            writeSharing(json, SharingBenchmark.run(directory, megabytes, rounds, driver));
        } catch (LinkageError | RuntimeException e) {
            StringWriter stack = new StringWriter();
            e.printStackTrace(new PrintWriter(stack));
            error = stack.toString();
        }
        json.writeStringField("error", error);
        json.writeBooleanField("passed", passed && error.isEmpty());
        json.writeEndObject();
        return passed && error.isEmpty();
    }

    /** What the driver says of a device. */
    private record Gpu(String name, long bytes, String capability) {

        static Gpu of(int index) {
            CUdevice device = new CUdevice();
            byte[] name = new byte[NAME_BYTES];
            long[] bytes = new long[1];
            BareCopies.require(JCudaDriver.cuDeviceGet(device, index));
            BareCopies.require(JCudaDriver.cuDeviceGetName(name, NAME_BYTES, device));
            BareCopies.require(JCudaDriver.cuDeviceTotalMem(bytes, device));
            return new Gpu(
                    new String(name, StandardCharsets.ISO_8859_1).replaceAll("\0.*", ""),
                    bytes[0],
                    attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + "."
                            + attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        }
    }

    private static void writeDevices(JsonGenerator json) throws IOException {
        CudaNatives.load();
        BareCopies.require(JCudaDriver.cuInit(0));
        int[] value = new int[1];
        BareCopies.require(JCudaDriver.cuDriverGetVersion(value));
        json.writeNumberField("cuda", value[0]);
        json.writeStringField("driver", firstLine(Path.of("/proc/driver/nvidia/version")));
        BareCopies.require(JCudaDriver.cuDeviceGetCount(value));
        List<Gpu> devices = IntStream.range(0, value[0]).mapToObj(Gpu::of).toList();
        json.writeArrayFieldStart("devices");
        for (Gpu each : devices) {
            json.writeStartObject();
            json.writeStringField("name", each.name());
            json.writeNumberField("bytes", each.bytes());
            json.writeStringField("capability", each.capability());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static int attribute(CUdevice device, int attribute) {
        int[] value = new int[1];
        BareCopies.require(JCudaDriver.cuDeviceGetAttribute(value, attribute, device));
        return value[0];
    }

    private static String firstLine(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1)
                    .lines()
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            return "";
        }
    }

    private static boolean writeTests(JsonGenerator json) throws IOException {
        LauncherDiscoveryRequest tests = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectPackage("io.waybill.cuda"))
                .filters(TagFilter.includeTags("gpu"))
                .build();
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(tests, listener);
        TestExecutionSummary summary = listener.getSummary();
        json.writeObjectFieldStart("tests");
        json.writeNumberField("passed", summary.getTestsSucceededCount());
        json.writeNumberField("failed", summary.getTotalFailureCount());
        json.writeNumberField("skipped", summary.getTestsSkippedCount() + summary.getTestsAbortedCount());
        json.writeArrayFieldStart("failures");
        for (TestExecutionSummary.Failure failure : summary.getFailures()) {
            json.writeString(failure.getTestIdentifier().getDisplayName() + ": " + failure.getException());
        }
        json.writeEndArray();
        json.writeEndObject();
        return summary.getTotalFailureCount() == 0 && summary.getTestsSucceededCount() > 0;
    }

    private static void writeBenchmark(JsonGenerator json, List<GpuBenchmark.Result> results) throws IOException {
        json.writeArrayFieldStart("benchmark");
        for (GpuBenchmark.Result each : results) {
            json.writeStartObject();
            json.writeStringField("direction", each.direction().name().toLowerCase(Locale.ROOT));
            json.writeNumberField("bytes", each.bytes());
            json.writeNumberField("rounds", each.rounds());
            json.writeNumberField("bareMedianNs", each.bareNs());
            json.writeNumberField("brokerMedianNs", each.brokerNs());
            json.writeNumberField("ratio", rounded(each.ratio()));
            json.writeStringField("waiting", each.waiting().name().toLowerCase(Locale.ROOT));
            json.writeNumberField("callMedianNs", each.callNs());
            json.writeNumberField("converterMedianNs", each.converterNs());
            json.writeNumberField("coldCallNs", each.coldNs());
            json.writeNumberField("firstCallNs", each.firstNs());
            json.writeNumberField("inFlight", each.inFlight());
            json.writeNumberField("bareInFlightMedianNs", each.bareInFlightNs());
            json.writeNumberField("brokerInFlightMedianNs", each.brokerInFlightNs());
            json.writeNumberField("inFlightRatio", rounded(each.inFlightRatio()));
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeSharing(JsonGenerator json, List<SharingBenchmark.Result> results) throws IOException {
        json.writeArrayFieldStart("sharing");
        for (SharingBenchmark.Result each : results) {
            json.writeStartObject();
            json.writeNumberField("bytes", each.bytes());
            json.writeNumberField("rounds", each.rounds());
            json.writeNumberField("callMedianNs", each.callNs());
            json.writeNumberField("sharedMedianNs", each.sharedNs());
            json.writeNumberField("firstSharedNs", each.openNs());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static double rounded(double ratio) {
        return Math.round(ratio * 1000) / 1000.0;
    }
}
