package io.waybill.system;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A file system of its own that another process can fill. Needs root; without it the test is skipped. Closing unmounts it. */
public final class SmallDisk implements AutoCloseable {

    /** What it is made of. */
    public enum Kind {
        TMPFS,
        EXT4
    }

    private final Path mountPoint;
    private final Path image;

    private SmallDisk(Path mountPoint, Path image) {
        this.mountPoint = mountPoint;
        this.image = image;
    }

    public static SmallDisk mount(Kind kind, int megabytes, Path directory) throws Exception {
        Path mountPoint = Files.createDirectory(directory.resolve("disk-" + kind + "-" + megabytes));
        Path image = directory.resolve(mountPoint.getFileName() + ".img");
        SmallDisk disk = new SmallDisk(mountPoint, image);
        if (kind == Kind.TMPFS) {
            disk.mountOrSkip("-t", "tmpfs", "-o", "size=" + megabytes + "m", "tmpfs");
        } else {
            assumeTrue(
                    run("dd", "if=/dev/zero", "of=" + image, "bs=1M", "count=" + megabytes)
                            && run("mkfs.ext4", "-q", "-F", "-m", "0", image.toString()),
                    "an ext4 image could not be made: mkfs.ext4 is needed");
            disk.mountOrSkip("-o", "loop", image.toString());
        }
        return disk;
    }

    private void mountOrSkip(String... what) throws Exception {
        List<String> command = new ArrayList<>(List.of("mount"));
        command.addAll(List.of(what));
        command.add(mountPoint.toString());
        assumeTrue(run(command.toArray(new String[0])), "mounting a small disk needs root: " + command);
    }

    public Path path() {
        return mountPoint;
    }

    /** Lets another process take all that is left. */
    public void fill() throws Exception {
        run("dd", "if=/dev/zero", "of=" + ballast(), "bs=64k");
        run("dd", "if=/dev/zero", "of=" + ballast() + "2", "bs=4k");
    }

    /** The same but for this much. */
    void fillBut(long kilobytes) throws Exception {
        long left = Files.getFileStore(mountPoint).getUsableSpace() / 1024 - kilobytes;
        if (left > 0) {
            run("dd", "if=/dev/zero", "of=" + ballast(), "bs=1k", "count=" + left);
        }
    }

    /** Gives back what was taken. */
    public void free() throws IOException {
        Files.deleteIfExists(ballast());
        Files.deleteIfExists(Path.of(ballast() + "2"));
    }

    private Path ballast() {
        return mountPoint.resolve("ballast");
    }

    private static boolean run(String... command) throws Exception {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return process.waitFor() == 0;
    }

    @Override
    public void close() {
        try {
            // a process that was killed just now may still hold it
            for (int tries = 0; !run("umount", mountPoint.toString()) && tries < 100; tries++) {
                if (!new String(Files.readAllBytes(Path.of("/proc/mounts")), StandardCharsets.UTF_8)
                        .contains(mountPoint.toString())) {
                    break;
                }
                java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
            }
            Files.deleteIfExists(image);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (Exception e) {
            throw new IllegalStateException("the small disk could not be unmounted: " + mountPoint, e);
        }
    }
}
