package io.waybill.cuda.standin;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A copy of the stand-in for NVIDIA's driver, {@code libcuda.so.1}, and the file of its settings and counts, for one process. The stand-in is
 * compiled from {@code src/test/c} once per build; {@code slots.def} there has the names of the slots and what they mean.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> The library stays in the process that loaded it, with the slots of this copy.
 */
public final class StandIn {

    /** Set by the profiles that must not skip tests. */
    private static final String REQUIRED_PROPERTY = "waybill.gcc.required";

    private static final String LIBRARY = "libcuda.so.1";
    private static final Path MODULE = Path.of("plugins", "cuda-converter");
    private static final Path SOURCES = Path.of("src", "test", "c");
    private static final Pattern SLOT = Pattern.compile("^SLOT\\((\\w+), (-?\\d+)\\)", Pattern.MULTILINE);
    private static final int LIMIT_S = 300;
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static StandIn ofThisJvm; // guarded by the class

    private final Path directory;
    private final Map<String, Integer> offsets = new LinkedHashMap<>();
    private final Map<String, Long> initial = new LinkedHashMap<>();
    private final MappedByteBuffer slots;

    private StandIn(Path directory, Path module) throws IOException {
        this.directory = directory;
        Matcher slot = SLOT.matcher(Files.readString(module.resolve(SOURCES).resolve("slots.def")));
        while (slot.find()) {
            offsets.put(slot.group(1), offsets.size() * Long.BYTES);
            initial.put(slot.group(1), Long.valueOf(slot.group(2)));
        }
        ByteBuffer content = ByteBuffer.allocate(offsets.size() * Long.BYTES).order(ByteOrder.nativeOrder());
        initial.values().forEach(content::putLong);
        Path control = directory.resolve("control");
        Files.write(control, content.array());
        try (FileChannel channel = FileChannel.open(control, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            slots = channel.map(FileChannel.MapMode.READ_WRITE, 0, content.capacity());
        }
        Files.copy(compiled(module), library(), StandardCopyOption.REPLACE_EXISTING);
    }

    /** Makes a copy for one process, in a directory of its own. Skips the test where there is no gcc. */
    public static StandIn in(Path directory) throws IOException {
        return new StandIn(Files.createDirectories(directory), module());
    }

    /** The copy for this JVM: a process loads one driver only. */
    public static synchronized StandIn ofThisJvm() throws IOException {
        if (ofThisJvm == null) {
            Path directory = module().resolve(Path.of(
                    "target", "cuda-stand-in", "pid-" + ProcessHandle.current().pid()));
            ofThisJvm = in(directory);
        }
        return ofThisJvm;
    }

    /** The file of the library: what the property {@code waybill.cuda.driver} of a process names. */
    public Path library() {
        return directory.resolve(LIBRARY);
    }

    /** Returns the value of a slot. */
    public long get(String slot) {
        return (long) LONGS.getVolatile(slots, offset(slot));
    }

    /** Sets a slot. */
    public void set(String slot, long value) {
        LONGS.setVolatile(slots, offset(slot), value);
    }

    /** Sets all slots as they were at first, but for the number of devices, which a process reads once, and for what is there. */
    public void reset() {
        initial.forEach((name, value) -> {
            if (!name.equals("devices") && !name.equals("pending_work") && !name.startsWith("live_")) {
                set(name, value);
            }
        });
    }

    /** Returns the slots that are not zero among those whose names begin with a text. */
    public Map<String, Long> nonZero(String prefix) {
        Map<String, Long> found = new LinkedHashMap<>();
        offsets.keySet().stream().filter(name -> name.startsWith(prefix)).forEach(name -> {
            if (get(name) != 0) {
                found.put(name, get(name));
            }
        });
        return found;
    }

    private int offset(String slot) {
        Integer offset = offsets.get(slot);
        if (offset == null) {
            throw new IllegalArgumentException("expected one of " + offsets.keySet() + ", found " + slot);
        }
        return offset;
    }

    /** Finds the directory of this module, from it or from another one. */
    private static Path module() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(directory.resolve(MODULE).resolve(SOURCES))) {
            directory = directory.getParent();
            if (directory == null) {
                throw new IllegalStateException("no " + MODULE.resolve(SOURCES) + " above "
                        + Path.of("").toAbsolutePath());
            }
        }
        return directory.resolve(MODULE);
    }

    /** Returns the library, compiled if that was not done since its sources changed; by one process at a time. */
    private static Path compiled(Path module) throws IOException {
        Path target = Files.createDirectories(module.resolve(Path.of("target", "cuda-stand-in")));
        Path library = target.resolve(LIBRARY);
        try (FileChannel lock =
                        FileChannel.open(target.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock held = lock.lock()) {
            if (held.isValid() && isOlder(library, module.resolve(SOURCES))) {
                Path made = target.resolve(LIBRARY + ".tmp");
                compile(module.resolve(SOURCES), made);
                Files.move(made, library, StandardCopyOption.ATOMIC_MOVE);
            }
        }
        return library;
    }

    private static boolean isOlder(Path library, Path sources) throws IOException {
        if (!Files.exists(library)) {
            return true;
        }
        try (Stream<Path> files = Files.list(sources)) {
            return files.anyMatch(file -> {
                try {
                    return Files.getLastModifiedTime(file).compareTo(Files.getLastModifiedTime(library)) > 0;
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }

    private static void compile(Path sources, Path library) throws IOException {
        requireGcc();
        List<String> command = new ArrayList<>(List.of("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra"));
        // the loader takes it for the driver by its soname; like the driver, it is never unloaded
        command.addAll(List.of("-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-soname," + LIBRARY, "-Wl,-z,nodelete"));
        command.addAll(List.of("-o", library.toString()));
        for (String part : List.of("control", "device", "memory", "stream", "copy")) {
            command.add(sources.resolve(part + ".c").toString());
        }
        command.addAll(List.of("-lpthread", "-ldl"));
        Path output = library.resolveSibling("gcc.out");
        Process gcc = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!gcc.waitFor(LIMIT_S, TimeUnit.SECONDS) || gcc.exitValue() != 0) {
                throw new IllegalStateException("the stand-in driver does not compile:\n" + Files.readString(output));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while gcc runs", e);
        } finally {
            gcc.destroyForcibly();
        }
    }

    private static void requireGcc() {
        boolean there = Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, "gcc")));
        String missing = "gcc is not installed: it compiles the driver that the tests of CUDA use instead of NVIDIA's";
        if (!there && Boolean.getBoolean(REQUIRED_PROPERTY)) {
            throw new IllegalStateException(missing);
        }
        assumeTrue(there, missing);
    }
}
