package io.waybill.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;

/**
 * Creates, moves, dates and removes the entries of directories by their paths, in trees whose directories were checked
 * before. A link is never followed at the end of a path.
 *
 * <p><b>Threads.</b> Any. <b>Errors.</b> {@link NoSuchFileException}, {@link FileAlreadyExistsException}, and else a
 * {@link NativeCallException}.
 */
public final class DirectoryTree {

    private static final int PRIVATE = 0700;
    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    private static final int AT_REMOVEDIR = 0x200;
    private static final long NS_PER_S = 1_000_000_000L;

    private final LibC libc;

    DirectoryTree(LibC libc) {
        this.libc = libc;
    }

    /** Creates a directory of mode 0700. */
    void makePrivate(Path directory) throws IOException {
        require(libc.mkdirat(NativeCalls.AT_FDCWD, bytes(directory), PRIVATE), "mkdir of ", directory);
    }

    /** Creates a symbolic link with this text. */
    void link(Path link, String text) throws IOException {
        byte[] target = text.getBytes(StandardCharsets.UTF_8);
        byte[] ended = Arrays.copyOf(target, target.length + 1);
        require(libc.symlinkat(ended, NativeCalls.AT_FDCWD, bytes(link)), "symlink of ", link);
    }

    /** Moves an entry within its file system, and replaces a file. */
    public void move(Path from, Path to) throws IOException {
        int moved = libc.renameat2(NativeCalls.AT_FDCWD, bytes(from), NativeCalls.AT_FDCWD, bytes(to), 0);
        require(moved, "rename to ", to);
    }

    /**
     * Sets the times of an entry's last access and change, in nanoseconds since 1970. Sets both: for one of them the
     * kernel does not report that attributes have changed, for which {@link ChangeWatch} waits.
     */
    public void touch(Path entry, long wallNs) throws IOException {
        long seconds = Math.floorDiv(wallNs, NS_PER_S);
        long ns = Math.floorMod(wallNs, NS_PER_S);
        long[] times = {seconds, ns, seconds, ns};
        int touched = libc.utimensat(NativeCalls.AT_FDCWD, bytes(entry), times, AT_SYMLINK_NOFOLLOW);
        require(touched, "utimensat of ", entry);
    }

    /** Removes an empty directory. */
    public void removeEmpty(Path directory) throws IOException {
        require(libc.unlinkat(NativeCalls.AT_FDCWD, bytes(directory), AT_REMOVEDIR), "rmdir of ", directory);
    }

    /**
     * Removes a directory and everything in it. An entry that another process removes meanwhile, or has removed before,
     * is no error.
     */
    public void removeAll(Path directory) throws IOException {
        Files.walkFileTree(directory, new Removal(file -> removeOne(file, 0), inner -> removeOne(inner, AT_REMOVEDIR)));
    }

    private void removeOne(Path entry, int flags) throws IOException {
        if (libc.unlinkat(NativeCalls.AT_FDCWD, bytes(entry), flags) != 0 && libc.errno() != LibC.ENOENT) {
            throw NativeCallException.of(libc.errno(), "unlink of ", entry);
        }
    }

    /** Removes a directory like {@link #removeAll}, for tools and tests that have no host. */
    public static void remove(Path directory) throws IOException {
        Files.walkFileTree(directory, new Removal(Files::deleteIfExists, Files::deleteIfExists));
    }

    private static byte[] bytes(Path path) {
        return PathBytes.of(path.toAbsolutePath());
    }

    private void require(int result, String what, Path path) throws IOException {
        if (result == 0) {
            return;
        }
        int errno = libc.errno();
        if (errno == LibC.ENOENT) {
            throw new NoSuchFileException(path.toString());
        }
        if (errno == LibC.EEXIST) {
            throw new FileAlreadyExistsException(path.toString());
        }
        throw NativeCallException.of(errno, what, path);
    }

    /** Removal of one entry. */
    private interface Step {
        void remove(Path entry) throws IOException;
    }

    /** Visitor that removes the visited entries, the directories last. */
    private static final class Removal extends SimpleFileVisitor<Path> {
        private final Step file;
        private final Step directory;

        Removal(Step file, Step directory) {
            this.file = file;
            this.directory = directory;
        }

        @Override
        public FileVisitResult visitFile(Path visited, BasicFileAttributes attributes) throws IOException {
            file.remove(visited);
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path failed, IOException failure) throws IOException {
            if (failure instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw failure;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path visited, IOException failure) throws IOException {
            if (failure != null) {
                throw failure;
            }
            directory.remove(visited);
            return FileVisitResult.CONTINUE;
        }
    }
}
