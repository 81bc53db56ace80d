package io.waybill.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class LibTorchTest {

    private static final Path NATIVES = Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY));

    @TempDir
    private Path directory;

    @Test
    void computesWithLibrariesThatAreLoadedWhereTheyLie() throws IOException {
        new LibTorch(NATIVES, 1).load();

        assertThat(Sum.inLibTorch()).isEqualTo(36);
        assertThat(torch.get_num_threads()).isEqualTo(1);
        assertThat(mappedFiles())
                .filteredOn(file -> file.contains("libtorch_cpu"))
                .allSatisfy(file -> assertThat(file)
                        .isEqualTo(
                                NATIVES.toRealPath().resolve("libtorch_cpu.so").toString()));
    }

    @Test
    void takesAllProcessorsByDefault() {
        new LibTorch(NATIVES, 0).load();

        assertThat(torch.get_num_threads()).isEqualTo(Runtime.getRuntime().availableProcessors());
    }

    /** Frameworks that follow one another in a process, or a program that uses this plugin as a library and embeds a node with the bundle. */
    @Test
    void computesInEachClassLoader() throws Exception {
        new LibTorch(NATIVES, 1).load();
        URL[] same = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(LibTorchTest::url)
                .toArray(URL[]::new);
        for (int copies = 1; copies <= 2; copies++) {
            try (URLClassLoader bundle = new URLClassLoader(same, ClassLoader.getPlatformClassLoader())) {
                Class<?> copied = bundle.loadClass(Sum.class.getName());
                assertThat(copied).isNotSameAs(Sum.class);
                assertThat((double) copied.getMethod("inLibTorch").invoke(null)).isEqualTo(36);
                assertThat((double) copied.getMethod("inLibTorch").invoke(null)).isEqualTo(36);
            }
            assertThat(mappedFiles())
                    .filteredOn(file -> file.contains("libjnitorch"))
                    .hasSize(1 + copies);
        }
        assertThat(mappedFiles())
                .filteredOn(file -> file.contains("libtorch_cpu"))
                .hasSize(1);
        assertThat(Sum.inLibTorch()).isEqualTo(36);
        try (Stream<Path> left = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            assertThat(left).noneMatch(path -> path.getFileName().toString().startsWith("waybill-torch-"));
        }
    }

    /** Is loaded by several class loaders. */
    public static final class Sum {

        private Sum() {}

        @SuppressWarnings("try")
        public static double inLibTorch() {
            new LibTorch(NATIVES, 1).load();
            try (PointerScope scope = new PointerScope()) {
                Tensor ones = torch.ones(3, 4);
                return torch.mm(ones, ones.t()).sum().item_double();
            }
        }
    }

    private static URL url(String path) {
        try {
            return Path.of(path).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void saysWhichLibrariesAreMissingAndWhatToDo() throws IOException {
        Files.createFile(directory.resolve("libc10.so"));

        assertThatThrownBy(() -> new LibTorch(directory, 0).load())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(directory + " lacks libjnijavacpp.so, libjnitorch.so")
                .hasMessageContaining(LibTorch.NATIVES_PROPERTY)
                .hasMessageContaining("lib/native");
    }

    @Test
    void refusesLibrariesThatEveryUserMayWriteTo() throws IOException {
        try (Stream<Path> files = Files.list(NATIVES)) {
            for (Path file : files.toList()) {
                Files.createFile(directory.resolve(file.getFileName()));
            }
        }
        Path library = directory.resolve("libc10.so");
        Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertThatThrownBy(() -> new LibTorch(directory, 0).load())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("every user may write to " + library);
    }

    @Test
    void saysThatItHasNoFolder() {
        assertThatThrownBy(() -> new LibTorch(Path.of(""), 0).load())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("set the framework's property waybill.torch.natives");
    }

    @Test
    void refusesAThreadCountThatIsNone() {
        assertThatThrownBy(() -> new LibTorch(NATIVES, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("intra.op.threads must be 0..4096: -1");
    }

    private static java.util.List<String> mappedFiles() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.indexOf('/') > 0)
                    .map(line -> line.substring(line.indexOf('/')))
                    .distinct()
                    .toList();
        }
    }
}
