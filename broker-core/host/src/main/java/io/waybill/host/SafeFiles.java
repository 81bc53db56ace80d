package io.waybill.host;

import io.waybill.host.FoundFile.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/**
 * Opens every file and directory of the broker, and opens nothing else: a regular file, owned by this process's user
 * and writable by no other, in a directory of which the same is true. The file may have hard links: other names of the
 * same owner's, such as in a snapshot.
 *
 * <p>The directory is pinned first; the name in it is then looked up without following a link and without opening it,
 * so that a FIFO can't block; the found object is checked, and that object is opened, even if the path was replaced.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The caller closes what it opened. <b>Errors.</b>
 * {@link UnsafeFileException} for an object that violates these rules, {@link NoSuchFileException} when it does not
 * exist, other {@link IOException}s from the system.
 */
public final class SafeFiles {
    private static final Pattern QUEUE_FILE = Pattern.compile(".*\\.cq4t?");
    private static final int MAX_LINK_TEXT = 4096;
    /** Max retries when a file is replaced while it is being opened. */
    private static final int MAX_REPLACED = 100;

    private static final int MAX_SYSTEM_QUEUE_FILES = 1_000_000;

    private final NativeCalls calls;
    private final int owner;
    private final AtomicLong temporaryNames = new AtomicLong();

    public SafeFiles(NativeCalls calls) {
        this.calls = calls;
        this.owner = calls.effectiveUser();
    }

    /** Returns the user that must own everything. */
    public int owner() {
        return owner;
    }

    /**
     * Checks that file ownership is meaningful: in a user namespace, one uid represents all unmapped users, and a
     * process with this uid can't distinguish its own files from others.
     */
    public void requireDistinctOwner() throws IOException {
        HostProcesses.requireMapped(owner);
    }

    /**
     * Returns the disk space of a file, or of a directory's own table, reserved space included. Nothing is opened and
     * no link is followed.
     */
    public long allocatedBytes(Path file) throws IOException {
        try {
            return calls.allocatedBytes(file);
        } catch (NativeCallException e) {
            if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                throw new NoSuchFileException(file.toString());
            }
            throw e;
        }
    }

    /**
     * Refuses a path that leads through a symbolic link of another user, which could lead to another object. Links of
     * this user and of root are followed. Missing elements are not checked.
     */
    public void requireOwnLinks(Path path) throws IOException {
        FoundFile.requireOwnLinks(path, owner);
    }

    /** Returns the number of hard links of a file: one, unless it has other names, such as in a snapshot. */
    public int hardLinks(Path file) throws IOException {
        return FoundFile.at(file).links();
    }

    /**
     * Returns the inode of a file or directory, by which the kernel distinguishes it from all others of its file
     * system.
     */
    public long inode(Path file) throws IOException {
        return (Long) Files.getAttribute(file, "unix:ino", LinkOption.NOFOLLOW_LINKS);
    }

    /** Checks a directory: owned by us, writable by no other user, and no link to one. */
    public Path requireDirectory(Path directory) throws IOException {
        FoundFile.at(directory).require(Kind.DIRECTORY, owner, Long.MAX_VALUE, directory);
        return directory;
    }

    /** Checks a directory that no other user may enter or list. */
    public Path requirePrivateDirectory(Path directory) throws IOException {
        FoundFile.at(directory)
                .require(Kind.DIRECTORY, owner, Long.MAX_VALUE, directory)
                .requirePrivate(directory);
        return directory;
    }

    /** Creates a directory of mode 0700 unless it exists, and checks it. Its parent must exist. */
    public Path createPrivateDirectory(Path directory) throws IOException {
        try {
            calls.tree().makePrivate(directory);
        } catch (FileAlreadyExistsException e) {
            // checked below, like a new one
        }
        return requirePrivateDirectory(directory);
    }

    /** Checks a file before other code, such as Chronicle, opens it by its path. */
    public Path requireRegular(Path file) throws IOException {
        FoundFile.at(file).require(Kind.FILE, owner, Long.MAX_VALUE, file);
        return file;
    }

    /**
     * Checks a queue's directory and each of its {@code *.cq4} and {@code *.cq4t}, before Chronicle opens them by their
     * paths.
     */
    public Path requireQueueDirectory(Path directory) throws IOException {
        requireDirectory(directory);
        for (Path entry : list(directory, MAX_SYSTEM_QUEUE_FILES)) {
            if (QUEUE_FILE.matcher(entry.getFileName().toString()).matches()) {
                requireRegularIfThere(entry);
            }
        }
        return directory;
    }

    /** Checks a file, unless it is missing: the owner of a queue removes old files. */
    private void requireRegularIfThere(Path file) throws IOException {
        try {
            requireRegular(file);
        } catch (NoSuchFileException e) {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                throw e;
            }
        }
    }

    /**
     * Lists the directories in a directory, without links to some, in no order. More entries than the limit are
     * refused.
     */
    public List<Path> listDirectories(Path directory, int limit) throws IOException {
        List<Path> found = list(directory, limit);
        found.removeIf(path -> !Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS));
        return found;
    }

    /** Lists a directory, unordered. Fails with more entries than the limit. */
    public List<Path> list(Path directory, int limit) throws IOException {
        requireDirectory(directory);
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (found.size() == limit) {
                    throw new UnsafeFileException(directory, "at most " + limit + " entries", "more");
                }
                found.add(entry);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }

    /** Reads a whole file of at most this number of bytes. */
    public byte[] readSmall(Path file, int maxBytes) throws IOException {
        try (FileChannel channel = openForReading(file, maxBytes)) {
            // it may grow after the check, so the limit is kept here, too
            ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(channel.size(), maxBytes));
            while (bytes.hasRemaining()) {
                if (channel.read(bytes) < 0) {
                    throw new EOFException(file + ": got shorter while it was read, at " + bytes.position());
                }
            }
            return bytes.array();
        }
    }

    /**
     * Replaces or creates a file of mode 0600 atomically: a reader finds the old or the new content, also after a power
     * cut. For files with one writer.
     */
    public void replaceAtomically(Path file, byte[] content) throws IOException {
        replaceAtomically(file, FileContent.of(content));
    }

    /** Replaces like {@link #replaceAtomically(Path, byte[])} with content that is written in pieces. */
    public void replaceAtomically(Path file, FileContent content) throws IOException {
        replace(file, content, PinnedDirectory.Sync.TO_DISK);
        syncParent(file);
    }

    /**
     * Replaces like {@link #replaceAtomically(Path, byte[])}, faster, but after a power cut the file may be missing or
     * damaged.
     */
    public void replaceUnsynced(Path file, byte[] content) throws IOException {
        replaceUnsynced(file, FileContent.of(content));
    }

    /**
     * Replaces like {@link #replaceUnsynced(Path, byte[])} with content that is written in pieces. On failure the old
     * file stays.
     */
    public void replaceUnsynced(Path file, FileContent content) throws IOException {
        replace(file, content, PinnedDirectory.Sync.LATER);
    }

    /**
     * Replaces like {@link #replaceAtomically(Path, byte[])}, for any number of writers: the content of one of them
     * stays.
     */
    public void replaceAmongWriters(Path file, byte[] content) throws IOException {
        replace(file, uniqueName(file), FileContent.of(content), PinnedDirectory.Sync.TO_DISK);
        syncParent(file);
    }

    private void replace(Path file, FileContent content, PinnedDirectory.Sync sync) throws IOException {
        replace(file, temporaryName(file, "new"), content, sync);
    }

    private void replace(Path file, byte[] temporary, FileContent content, PinnedDirectory.Sync sync)
            throws IOException {
        try (PinnedDirectory location = pin(file)) {
            location.remove(temporary);
            location.write(temporary, content, sync);
            location.replaceBy(temporary);
        }
    }

    /**
     * Creates a file like {@link #replaceAtomically(Path, byte[])}, unless it exists; false when it does. For any
     * number of writers.
     */
    public boolean createAtomically(Path file, byte[] content) throws IOException {
        try (PinnedDirectory location = pin(file)) {
            byte[] temporary = uniqueName(file);
            location.remove(temporary);
            location.write(temporary, FileContent.of(content), PinnedDirectory.Sync.TO_DISK);
            boolean created = location.createBy(temporary);
            if (created) {
                syncParent(file);
            } else {
                location.remove(temporary);
            }
            return created;
        }
    }

    /** Renames {@code from} to {@code to}, in the same directory; {@link #syncParent} makes it durable. */
    public void renameWithin(Path from, Path to) throws IOException {
        if (!from.toAbsolutePath().getParent().equals(to.toAbsolutePath().getParent())) {
            throw new IllegalArgumentException("not in one directory: " + from + " and " + to);
        }
        try (PinnedDirectory location = pin(to)) {
            location.replaceBy(PathBytes.ofName(from));
        }
    }

    /** Removes a file, or the link itself; nothing when there is none. */
    public void remove(Path file) throws IOException {
        try (PinnedDirectory location = pin(file)) {
            location.remove();
        }
    }

    /** Returns the operations that change directories by their paths. */
    public DirectoryTree tree() {
        return calls.tree();
    }

    /** Opens an existing file for reading. An interrupt does not close it. */
    public FileChannel openForReading(Path file, long maxBytes) throws IOException {
        return openNative(file, maxBytes).asChannel();
    }

    /** Opens an existing file for reading, for operations that a channel lacks. */
    public NativeFile openNative(Path file, long maxBytes) throws IOException {
        return openChecked(file, Kind.FILE, NativeCalls.O_RDONLY, maxBytes);
    }

    /**
     * Opens a file of our own for reading and writing; creates it, with mode 0600, when it does not exist. An interrupt
     * does not close it.
     */
    public FileChannel openOwn(Path file) throws IOException {
        return openOwnNative(file).asChannel();
    }

    /** Opens a file of our own like {@link #openOwn}, for operations that a channel lacks. */
    public NativeFile openOwnNative(Path file) throws IOException {
        while (true) {
            try {
                return openChecked(file, Kind.FILE, NativeCalls.O_RDWR, Long.MAX_VALUE);
            } catch (NoSuchFileException e) {
                try (PinnedDirectory location = pin(file)) {
                    return location.create();
                } catch (FileAlreadyExistsException raced) {
                    // another process created it in between: open that one, checked
                }
            }
        }
    }

    /** Opens an existing file of our own for writing. */
    public NativeFile openExistingNative(Path file) throws IOException {
        return openChecked(file, Kind.FILE, NativeCalls.O_RDWR, Long.MAX_VALUE);
    }

    /**
     * Opens an open file a second time, for reading and writing; each is closed separately. An interrupt does not close
     * it.
     */
    public FileChannel channelOf(NativeFile file) throws IOException {
        return file.openChannel();
    }

    /** Opens a FIFO of our own to wait at; creates it, with mode 0600, when it does not exist. Never blocks. */
    public Fifo openOwnFifo(Path fifo) throws IOException {
        try (PinnedDirectory location = pin(fifo)) {
            location.makeFifo();
        }
        // open for writing too: otherwise it would be at the end of the file whenever no peer has it open
        return new Fifo(calls, openChecked(fifo, Kind.FIFO, NativeCalls.O_RDWR | NativeCalls.O_NONBLOCK, 0), true);
    }

    /** Opens a FIFO to pass bytes into; empty when no thread waits at it. Never blocks. */
    public Optional<Fifo> openFifo(Path fifo) throws IOException {
        try {
            return Optional.of(new Fifo(
                    calls, openChecked(fifo, Kind.FIFO, NativeCalls.O_WRONLY | NativeCalls.O_NONBLOCK, 0), false));
        } catch (NativeCallException e) {
            if (e.is(LibC.ENXIO)) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** Creates a symbolic link whose text is a claim and not a path; false when the name exists. */
    public boolean createClaim(Path claim, String text) throws IOException {
        boolean created = createUnsyncedClaim(claim, text);
        if (created) {
            syncParent(claim);
        }
        return created;
    }

    /** Creates a claim like {@link #createClaim}, which the next sync of its directory writes to the disk. */
    public boolean createUnsyncedClaim(Path claim, String text) throws IOException {
        requireDirectory(claim.getParent());
        try {
            calls.tree().link(claim, text);
        } catch (FileAlreadyExistsException e) {
            return false;
        }
        return true;
    }

    /** Returns the text of a claim, which is never followed; empty when there is none. */
    public Optional<String> readClaim(Path claim) throws IOException {
        try {
            FoundFile found = FoundFile.at(claim);
            if (!found.is(Kind.SYMLINK) || found.uid() != owner || found.size() > MAX_LINK_TEXT) {
                throw new UnsafeFileException(
                        claim,
                        "a symbolic link owned by uid " + owner,
                        "mode " + Integer.toOctalString(found.mode()) + " owned by uid " + found.uid());
            }
            return Optional.of(Files.readSymbolicLink(claim).toString());
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Syncs the entries of a file's directory, after a file in it was created, renamed or removed. */
    public void syncParent(Path file) throws IOException {
        PinnedDirectory.sync(calls, file);
    }

    private PinnedDirectory pin(Path file) throws IOException {
        return PinnedDirectory.pin(calls, owner, file);
    }

    private NativeFile openChecked(Path file, Kind kind, int flags, long maxBytes) throws IOException {
        for (int tries = 1; ; tries++) {
            try (PinnedDirectory location = pin(file)) {
                return location.open(kind, flags, maxBytes);
            } catch (UnsafeFileException.ReplacedFileException e) {
                if (tries == MAX_REPLACED) {
                    throw e;
                }
            }
        }
    }

    private byte[] uniqueName(Path file) {
        return temporaryName(
                file, calls.processId() + "-" + System.nanoTime() + "-" + temporaryNames.incrementAndGet());
    }

    private static byte[] temporaryName(Path file, String suffix) {
        return PathBytes.ofName(file.resolveSibling("." + file.getFileName() + "." + suffix));
    }
}
