package io.waybill.torch;

import io.waybill.api.handler.Exclusive;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.bytedeco.pytorch.global.torch;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * Loader of libtorch. A component that uses the classes of {@code org.bytedeco.pytorch} refers to this service and
 * calls {@link #load} in its constructor, so that it reports the reason if libtorch is unavailable.
 *
 * <p><b>Loading.</b> The libraries are opened in place, in a folder with all of them; nothing is unpacked or copied.
 * The folder is this component's setting {@code native.directory}, or else the framework's property
 * {@value #NATIVES_PROPERTY}.
 *
 * <p>A process contains libtorch once. JavaCPP's two libraries with the native methods belong to the class loader that
 * loads them. So another framework of this process, or its program, loads them as copies: 30 MB each. They are deleted
 * as soon as they are loaded.
 *
 * <p><b>Threads.</b> Immutable. <b>Lifetime.</b> Native libraries stay loaded until the process ends: restart a node to
 * use another version of this bundle.
 */
@Exclusive
@Component(service = LibTorch.class)
public final class LibTorch {

    /** Property of the framework with the folder of the native libraries. */
    public static final String NATIVES_PROPERTY = "waybill.torch.natives";

    /** Files required in the folder. The linker finds the others through the two that are loaded by name. */
    private static final List<String> FILES = List.of(
            "libjnijavacpp.so",
            "libjnitorch.so",
            "libtorch_cpu.so",
            "libc10.so",
            "libgomp.so.1",
            "libopenblas.so.0",
            "libgfortran.so.5",
            "libquadmath.so.0");

    private static final int MAX_THREADS = 4096;

    /** Part of the JVM's text about a library that another class loader has loaded. */
    private static final String ELSEWHERE = "already loaded in another classloader";

    private static final List<String> LOADED_BY_NAME = List.of("libjnijavacpp.so", "libjnitorch.so");

    /** Settings, under the PID {@code io.waybill.torch.LibTorch}. */
    public @interface Config {

        /**
         * Returns the folder with the native libraries; empty for the framework's {@value LibTorch#NATIVES_PROPERTY}.
         */
        String native_directory() default "";

        /** Returns the max number of threads of one operator; 0 for the number of processors. */
        int intra_op_threads() default 0;
    }

    private static boolean loaded; // guarded by the class

    private final String directory;
    private final int intraOpThreads;

    @Activate
    public LibTorch(BundleContext context, Config config) {
        this(
                config.native_directory().isEmpty() ? context.getProperty(NATIVES_PROPERTY) : config.native_directory(),
                config.intra_op_threads());
    }

    /**
     * Creates the component with its settings.
     *
     * @param directory with the native libraries
     * @param intraOpThreads threads that one operator may use; 0 for the number of processors
     */
    public LibTorch(Path directory, int intraOpThreads) {
        this(directory.toString(), intraOpThreads);
    }

    private LibTorch(String directory, int intraOpThreads) {
        if (intraOpThreads < 0 || intraOpThreads > MAX_THREADS) {
            throw new IllegalArgumentException("intra.op.threads must be 0.." + MAX_THREADS + ": " + intraOpThreads);
        }
        this.directory = directory == null ? "" : directory;
        this.intraOpThreads = intraOpThreads;
    }

    /**
     * Loads libtorch, unless this process has already loaded it.
     *
     * @throws IllegalStateException if it can't be loaded, with the missing file and what to do
     */
    public void load() {
        if (directory.isEmpty()) {
            throw new IllegalStateException("libtorch's native libraries have no folder: set the framework's property "
                    + NATIVES_PROPERTY + ", or native.directory of " + LibTorch.class.getName()
                    + ", to the distribution's lib/native");
        }
        load(Path.of(directory).toAbsolutePath().normalize());
        torch.set_num_threads(intraOpThreads == 0 ? Runtime.getRuntime().availableProcessors() : intraOpThreads);
        letNoFunctionProfileItself();
    }

    /**
     * Disables profiling of functions. By default libtorch runs a TorchScript function the first time in a form that
     * writes the observed shapes to the function's own graph. A task that the function forked does so too, and, if it
     * outlives the function, to memory that was freed. Without profiles libtorch uses its simple executor: the same
     * operators, prepared once.
     */
    private static void letNoFunctionProfileItself() {
        torch.getProfilingMode().put(false);
    }

    private static synchronized void load(Path directory) {
        requireFiles(directory);
        letJavaCppLoadNothing();
        if (loaded) {
            return;
        }
        for (String name : LOADED_BY_NAME) {
            Path file = directory.resolve(name);
            try {
                loadForThisLoader(file);
            } catch (UnsatisfiedLinkError e) {
                // complete with its text: the cause adds no information
                throw new IllegalStateException(reason(file, e));
            } catch (IOException e) {
                throw new IllegalStateException(
                        "libtorch cannot be loaded: another class loader of this process has loaded " + file
                                + ", and no copy of it can be made: " + e
                                + "; the JVM's directory for temporary files (java.io.tmpdir) needs 30 MB",
                        e);
            }
        }
        loaded = true;
    }

    private static void loadForThisLoader(Path file) throws IOException {
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            if (!String.valueOf(e.getMessage()).contains(ELSEWHERE)) {
                throw e;
            }
            loadCopy(file);
        }
    }

    /** Loads a copy of a library. Its dependencies are already in the process, where the linker finds them by name. */
    private static void loadCopy(Path file) throws IOException {
        Path scratch = Files.createTempDirectory("waybill-torch-");
        Path copy = scratch.resolve(file.getFileName());
        try {
            Files.copy(file, copy);
            System.load(copy.toString());
        } finally {
            Files.deleteIfExists(copy);
            Files.delete(scratch);
        }
    }

    /**
     * Prevents JavaCPP from searching for its libraries in its own jars and unpacking them to the user's home. Also
     * disables its limit of the process's memory, four times the Java heap, which any larger mapped file exceeds.
     *
     * <p>Only properties of the JVM can set this; existing ones are kept, except those for loading.
     */
    private static void letJavaCppLoadNothing() {
        System.setProperty("org.bytedeco.javacpp.loadLibraries", "false");
        for (String limit : List.of("org.bytedeco.javacpp.maxBytes", "org.bytedeco.javacpp.maxPhysicalBytes")) {
            if (System.getProperty(limit) == null) {
                System.setProperty(limit, "0");
            }
        }
    }

    private static void requireFiles(Path directory) {
        List<String> missing = new ArrayList<>();
        for (String name : FILES) {
            if (!Files.isRegularFile(directory.resolve(name))) {
                missing.add(name);
            }
        }
        if (!missing.isEmpty()) {
            throw new IllegalStateException("libtorch cannot be loaded: set " + NATIVES_PROPERTY
                    + " to the distribution's lib/native; " + directory + " lacks " + String.join(", ", missing));
        }
        requirePrivate(directory);
        FILES.forEach(name -> requirePrivate(directory.resolve(name)));
    }

    /** Rejects libraries that other users may write. */
    private static void requirePrivate(Path path) {
        try {
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
            if (permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
                throw new IllegalStateException(
                        "libtorch is not loaded: every user may write to " + path + "; take that permission away");
            }
        } catch (IOException e) {
            throw new IllegalStateException("libtorch cannot be loaded: no permissions of " + path + ": " + e, e);
        }
    }

    private static String reason(Path file, UnsatisfiedLinkError error) {
        String text = String.valueOf(error.getMessage());
        return "libtorch cannot be loaded: " + file + ": " + text
                + "; it needs Linux on x86-64 with glibc 2.35 and the "
                + "libstdc++ of GCC 12 (GLIBCXX_3.4.30), or newer ones";
    }
}
