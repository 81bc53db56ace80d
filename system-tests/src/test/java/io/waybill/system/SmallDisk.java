package io.waybill.system;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A file system of its own that another process can fill. Needs root; without it the test is skipped. Closing unmounts it. */
public final class SmallDisk implements AutoCloseable {

    /** What it is made of. */
    public enum Kind {
        TMPFS,
        EXT4
    }

    private static final int TRIES = 100;
    private static final long BETWEEN_TRIES_NS = 50_000_000;

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

    private static boolean run(String... command) throws IOException, InterruptedException {
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
            for (int tries = 0; isMounted() && !run("umount", mountPoint.toString()) && tries < TRIES; tries++) {
                LockSupport.parkNanos(BETWEEN_TRIES_NS);
            }
            if (isMounted()) {
                Set<String> users = users();
                run("umount", "--lazy", mountPoint.toString()); // it must not stay
                throw new AssertionError("expected that nothing uses " + mountPoint + " any more, found " + users);
            }
            Files.deleteIfExists(image);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted before the small disk was unmounted: " + mountPoint, e);
        }
    }

    private boolean isMounted() throws IOException {
        return Files.readString(Path.of("/proc/mounts")).contains(" " + mountPoint + " ");
    }

    /** Which files of it processes have open or mapped. */
    private Set<String> users() {
        Set<String> users = new TreeSet<>();
        ProcessHandle.allProcesses().forEach(process -> {
            Path directory = Path.of("/proc", String.valueOf(process.pid()));
            try (Stream<String> mapped = Files.lines(directory.resolve("maps"));
                    Stream<Path> opened = Files.list(directory.resolve("fd"))) {
                Stream.concat(
                                mapped,
                                Stream.concat(opened, Stream.of(directory.resolve("cwd")))
                                        .map(SmallDisk::target))
                        .filter(text -> text.contains(mountPoint.toString()))
                        .forEach(text -> users.add(process.pid() + " " + text.substring(text.indexOf('/'))));
            } catch (IOException | UncheckedIOException e) {
                users.add(process.pid() + " can't be looked at: " + e); // it may have ended
            }
        });
        return users;
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            return ""; // closed meanwhile
        }
    }
}
