package io.waybill.host;

import io.waybill.host.FoundFile.Kind;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Name in a checked directory that is held open, so that it can't be replaced by another directory between two steps.
 *
 * <p><b>Threads.</b> For one thread. <b>Ownership.</b> Its opener closes it.
 */
final class PinnedDirectory implements AutoCloseable {

    /** Time at which the content of a written file is synced. */
    enum Sync {
        TO_DISK,
        LATER
    }

    private final NativeCalls calls;
    private final int owner;
    private final Path path;
    private final byte[] name;
    private final NativeFile directory;

    private PinnedDirectory(NativeCalls calls, int owner, Path path, NativeFile directory) {
        this.calls = calls;
        this.owner = owner;
        this.path = path;
        this.name = PathBytes.ofName(path);
        this.directory = directory;
    }

    /** Pins and checks the directory of a path. */
    static PinnedDirectory pin(NativeCalls calls, int owner, Path path) throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        NativeFile directory = openDirectory(calls, path, NativeCalls.O_PATH);
        try {
            FoundFile.openAs(directory).require(Kind.DIRECTORY, owner, Long.MAX_VALUE, parent);
            return new PinnedDirectory(calls, owner, path, directory);
        } catch (IOException e) {
            directory.close();
            throw e;
        }
    }

    /** Syncs the entries of a path's directory to the disk. */
    static void sync(NativeCalls calls, Path path) throws IOException {
        try (NativeFile directory = openDirectory(calls, path, NativeCalls.O_RDONLY | NativeCalls.O_DIRECTORY)) {
            directory.sync();
        }
    }

    private static NativeFile openDirectory(NativeCalls calls, Path path, int flags) throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        return open(calls, NativeCalls.AT_FDCWD, PathBytes.of(parent), flags | NativeCalls.O_NOFOLLOW, path, parent);
    }

    /** Opens the object with the name, if it is what it must be. Follows no link, and waits at no FIFO. */
    NativeFile open(Kind kind, int flags, long maxBytes) throws IOException {
        int look = NativeCalls.O_PATH | NativeCalls.O_NOFOLLOW;
        try (NativeFile named = open(calls, directory.descriptor(), name, look, path, path)) {
            FoundFile.openAs(named).require(kind, owner, maxBytes, path);
            // that object, through its descriptor: the name may refer to another one by now
            byte[] found = PathBytes.of(named.descriptorPath());
            return new NativeFile(calls, calls.openAt(NativeCalls.AT_FDCWD, found, flags, 0, path), path);
        }
    }

    /** Creates a file of mode 0600, which must not exist. */
    NativeFile create() throws IOException {
        return create(name);
    }

    /** Creates a file with another name in the same directory. */
    NativeFile create(byte[] sibling) throws IOException {
        int flags = NativeCalls.O_RDWR | NativeCalls.O_CREAT | NativeCalls.O_EXCL | NativeCalls.O_NOFOLLOW;
        return open(calls, directory.descriptor(), sibling, flags, path, path);
    }

    /** Creates a file with another name in the same directory, with its content; none is left when that fails. */
    void write(byte[] sibling, FileContent content, Sync sync) throws IOException {
        try (NativeFile created = create(sibling)) {
            write(created, content, sync);
        } catch (IOException | RuntimeException e) {
            remove(sibling);
            throw e;
        }
    }

    private void write(NativeFile created, FileContent content, Sync sync) throws IOException {
        try (FileChannel channel = created.openChannel()) {
            content.writeTo(channel);
            if (sync == Sync.TO_DISK) {
                channel.force(true);
            }
        } catch (IOException e) { // an error of a channel does not name the file
            throw new IOException(path + " can't be written: " + e.getMessage(), e);
        }
    }

    /** Creates a FIFO of mode 0600 unless the name is taken. */
    void makeFifo() throws IOException {
        try {
            calls.makeFifoAt(directory.descriptor(), name, path);
        } catch (NativeCallException e) {
            if (!e.is(LibC.EEXIST)) {
                throw e;
            }
        }
    }

    void remove() throws IOException {
        remove(name);
    }

    void remove(byte[] sibling) throws IOException {
        calls.unlinkAt(directory.descriptor(), sibling, path);
    }

    /** Renames a sibling to this name. */
    void replaceBy(byte[] sibling) throws IOException {
        calls.renameAt(directory.descriptor(), sibling, name, path);
    }

    /** Renames a sibling to this name unless it is taken; returns false when it is. */
    boolean createBy(byte[] sibling) throws IOException {
        return calls.renameToNewAt(directory.descriptor(), sibling, name, path);
    }

    private static NativeFile open(NativeCalls calls, int at, byte[] name, int flags, Path asked, Path opened)
            throws IOException {
        try {
            return new NativeFile(calls, calls.openAt(at, name, flags, 0600, opened), opened);
        } catch (NativeCallException e) {
            if (e.is(LibC.ENOENT)) {
                throw new NoSuchFileException(asked.toString());
            }
            if (e.is(LibC.EEXIST)) {
                throw new FileAlreadyExistsException(asked.toString());
            }
            throw e;
        }
    }

    @Override
    public void close() {
        directory.close();
    }
}
