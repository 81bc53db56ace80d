package io.waybill.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;

/**
 * JCuda's native library: checked against its digest, written from the bundle to a private directory, and loaded from
 * there, once.
 *
 * <p>It needs the library of NVIDIA's driver, {@code libcuda.so.1}, and nothing else. The dynamic loader finds that
 * library, or {@value #DRIVER_PROPERTY} names it.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Lifetime.</b> The library stays loaded until the process exits: restart a node to
 * use another version of this bundle.
 */
public final class CudaNatives {

    /** Property of the framework or the JVM with the file of the driver's library. */
    public static final String DRIVER_PROPERTY = "waybill.cuda.driver";

    /** Property of the framework or the JVM with the directory to which the library is written. */
    public static final String DIRECTORY_PROPERTY = "waybill.cuda.natives";

    static final String FILE = "libJCudaDriver-12.6.0-linux-x86_64.so";
    static final String SHA_256 = "fdc3b4b4fca4f0fab54ff12c0b4d6ad1c5e8d55015b4950834c705e5db301255";

    private static final int MAX_BYTES = 16 << 20;
    private static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");
    private static final String ELSEWHERE = "already loaded in another classloader";

    private static String directory = System.getProperty(DIRECTORY_PROPERTY, ""); // guarded by the class
    private static String driver = System.getProperty(DRIVER_PROPERTY, ""); // guarded by the class
    private static boolean loaded; // guarded by the class

    private CudaNatives() {}

    /**
     * Sets the paths of the files, until the next call; the defaults are the properties of the JVM.
     *
     * @param directory directory to which the library is written; created if missing
     * @param driver file of the driver's library; empty if the dynamic loader finds it
     */
    public static synchronized void configure(String directory, String driver) {
        CudaNatives.directory = directory;
        CudaNatives.driver = driver;
    }

    /**
     * Loads the library, unless this process has already loaded it. Can be called again after a failure.
     *
     * @throws UnsatisfiedLinkError if it can't be loaded; the text states the missing file and what to do
     */
    public static synchronized void load() {
        if (loaded) {
            return;
        }
        String platform = System.getProperty("os.name") + " on " + System.getProperty("os.arch");
        if (!platform.equals("Linux on amd64")) {
            throw new UnsatisfiedLinkError("CUDA is supported on Linux on amd64, found " + platform);
        }
        if (directory.isEmpty()) {
            throw new UnsatisfiedLinkError("JCuda's native library has no directory: set " + DIRECTORY_PROPERTY);
        }
        loadDriver();
        loadFile(written(Path.of(directory).toAbsolutePath().normalize()));
        loaded = true;
    }

    private static void loadDriver() {
        if (driver.isEmpty()) {
            return;
        }
        Path file = Path.of(driver).toAbsolutePath().normalize();
        try {
            if (!Files.isRegularFile(file)) {
                throw new UnsatisfiedLinkError(
                        DRIVER_PROPERTY + ": expected the file of NVIDIA's libcuda.so.1, found none: " + file);
            }
            requireUnwritable(file, Set.of(PosixFilePermission.OTHERS_WRITE));
            System.load(file.toString());
        } catch (IOException e) {
            throw new UnsatisfiedLinkError(DRIVER_PROPERTY + ": " + file + " can't be checked: " + e);
        } catch (UnsatisfiedLinkError e) {
            if (!String.valueOf(e.getMessage())
                    .contains(ELSEWHERE)) { // another loader of this process has loaded it, which suffices
                throw e;
            }
        }
    }

    private static void loadFile(Path file) {
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            String text = String.valueOf(e.getMessage());
            throw new UnsatisfiedLinkError(
                    text.contains("libcuda.so.1")
                            ? "NVIDIA's driver was not found: " + text + "; install it, or set " + DRIVER_PROPERTY
                                    + " to the file of its library"
                            : text.contains(ELSEWHERE)
                                    ? "JCuda was loaded by an earlier version of this bundle, and native libraries load "
                                            + "once per process: restart the node"
                                    : "JCuda's native library can't be loaded: " + text + "; " + DIRECTORY_PROPERTY
                                            + " sets another directory for it");
        }
    }

    /** Writes the library, and returns its file. Replaces an existing file, whose content is untrusted. */
    private static Path written(Path to) {
        try {
            byte[] content = content();
            Files.createDirectories(to, PosixFilePermissions.asFileAttribute(PRIVATE));
            requireUnwritable(to, Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE));
            Path written = Files.createTempFile(to, FILE, ".tmp");
            try {
                if (!Files.getOwner(written).equals(Files.getOwner(to))) {
                    throw new IOException("the directory belongs to another user: " + Files.getOwner(to));
                }
                Files.write(written, content);
                return Files.move(written, to.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(written);
            }
        } catch (IOException e) {
            throw new UnsatisfiedLinkError("JCuda's native library can't be written to " + to + ": " + e.getMessage()
                    + "; " + DIRECTORY_PROPERTY + " sets another directory");
        }
    }

    /** Returns the library's bytes, after a check that they are those of the build. */
    private static byte[] content() throws IOException {
        try (InputStream in = CudaNatives.class.getResourceAsStream("/native/" + FILE)) {
            if (in == null) {
                throw new IOException("the bundle lacks native/" + FILE);
            }
            byte[] content = in.readNBytes(MAX_BYTES);
            String found = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(content));
            if (!found.equals(SHA_256)) {
                throw new IOException("expected the SHA-256 digest " + SHA_256 + ", found " + found + " of " + FILE);
            }
            return content;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // each JVM has it
        }
    }

    private static void requireUnwritable(Path path, Set<PosixFilePermission> refused) throws IOException {
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
        if (permissions.stream().anyMatch(refused::contains)) {
            throw new UnsatisfiedLinkError("JCuda is not loaded: other users may write to " + path + ": "
                    + PosixFilePermissions.toString(permissions) + "; take that permission away");
        }
    }
}
