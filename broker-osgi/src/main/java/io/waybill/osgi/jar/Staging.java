package io.waybill.osgi.jar;

import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory into which every bundle is copied before it is read. It is private to this process's user, so the
 * checked content is what runs.
 *
 * <p>A source is accepted only if its owner alone may change it, and its owner is this process's user or root.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Staging {

    private static final Logger LOG = LoggerFactory.getLogger(Staging.class);
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final Integer ROOT = 0;
    private static final int WRITABLE_BY_OTHERS = 0002;
    private static final int STICKY = 01000;
    private static final int COPY_BYTES = 1 << 16;
    private static final long KEPT_FREE_BYTES = 1 << 20;

    private final Path directory;
    private final Object ownUser;
    private final long maxJarBytes;
    private final AtomicLong count = new AtomicLong();

    /** Creates the directory if it is missing, and empties it: files of an earlier process are useless. */
    public Staging(Path directory, long maxJarBytes) throws IOException {
        this(directory, maxJarBytes, null);
    }

    /**
     * @param user owner of acceptable files, in addition to root; null for the owner of the directory, which is this
     *     process's user
     */
    public Staging(Path directory, long maxJarBytes, Integer user) throws IOException {
        this.directory = directory;
        this.maxJarBytes = maxJarBytes;
        createPrivate(directory);
        this.ownUser = user != null ? user : Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        try (DirectoryStream<Path> left = Files.newDirectoryStream(directory)) {
            for (Path path : left) {
                Files.delete(path);
            }
        }
    }

    /** Creates a directory of mode 0700, or sets the mode of an existing one. */
    public static void createPrivate(Path directory) throws IOException {
        Path parent = directory.toAbsolutePath().getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            Files.setPosixFilePermissions(directory, PRIVATE_DIRECTORY.value());
        } else {
            Files.createDirectory(directory, PRIVATE_DIRECTORY);
        }
    }

    /**
     * Copies a jar and checks the copy.
     *
     * @return the copy, which the caller discards after use
     */
    public StagedJar stage(Path source) throws BundleRefusedException {
        requireTrusted(source);
        requireRoom(source);
        Path copy = directory.resolve(count.incrementAndGet() + ".jar");
        try {
            String sha256 = copy(source, copy);
            return JarCheck.check(copy, source, sha256);
        } catch (IOException e) {
            deleteQuietly(copy);
            throw new BundleRefusedException(Reason.UNREADABLE, source + " can't be read: " + describe(e), e);
        } catch (BundleRefusedException e) {
            deleteQuietly(copy);
            throw e;
        }
    }

    public void discard(StagedJar jar) {
        deleteQuietly(jar.copy());
    }

    private void requireTrusted(Path source) throws BundleRefusedException {
        Path parent = source.toAbsolutePath().getParent();
        try {
            if (!Files.isRegularFile(source, LinkOption.NOFOLLOW_LINKS)) {
                String found = Files.isSymbolicLink(source)
                        ? "a link is"
                        : Files.exists(source, LinkOption.NOFOLLOW_LINKS) ? "something else is" : "nothing is";
                throw new BundleRefusedException(
                        Reason.UNREADABLE, "a bundle is a regular file and no link, and " + found + " at " + source);
            }
            Map<String, Object> file = Files.readAttributes(source, "unix:uid,mode,size", LinkOption.NOFOLLOW_LINKS);
            Map<String, Object> folder = Files.readAttributes(parent, "unix:mode");
            int mode = (int) file.get("mode");
            int folderMode = (int) folder.get("mode");
            if (!file.get("uid").equals(ownUser) && !file.get("uid").equals(ROOT)) {
                throw new BundleRefusedException(
                        Reason.UNREADABLE,
                        source + " must belong to user " + ownUser + " or to root, and belongs to " + file.get("uid"));
            }
            if ((mode & WRITABLE_BY_OTHERS) != 0) {
                throw new BundleRefusedException(Reason.UNREADABLE, "everybody may write to " + source);
            }
            if ((folderMode & WRITABLE_BY_OTHERS) != 0 && (folderMode & STICKY) == 0) {
                throw new BundleRefusedException(Reason.UNREADABLE, "everybody may replace files in " + parent);
            }
            if ((long) file.get("size") > maxJarBytes) {
                throw tooLarge(source);
            }
        } catch (IOException e) {
            throw new BundleRefusedException(Reason.UNREADABLE, source + " can't be read: " + describe(e), e);
        }
    }

    /**
     * Fails before writing if there is too little room: journals need the rest, and a full disk would truncate the
     * copy.
     */
    private void requireRoom(Path source) throws BundleRefusedException {
        try {
            long needed = 2 * Files.size(source) + KEPT_FREE_BYTES; // the framework makes a copy, too
            long left = Files.getFileStore(directory).getUsableSpace();
            if (left < needed) {
                throw new BundleRefusedException(
                        Reason.NO_ROOM,
                        "no room: it needs " + needed + " bytes on the disk of " + directory + ", which has " + left
                                + "; it is tried again when there is room");
            }
        } catch (IOException e) {
            throw new BundleRefusedException(Reason.UNREADABLE, source + " can't be read: " + describe(e), e);
        }
    }

    private String copy(Path source, Path copy) throws IOException, BundleRefusedException {
        MessageDigest digest = sha256();
        ByteBuffer buffer = ByteBuffer.allocate(COPY_BYTES);
        long copied = 0;
        try (SeekableByteChannel in =
                        Files.newByteChannel(source, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
                SeekableByteChannel out = Files.newByteChannel(
                        copy, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), PRIVATE_FILE)) {
            while (in.read(buffer.clear()) >= 0) {
                buffer.flip();
                copied += buffer.remaining();
                if (copied > maxJarBytes) { // it may grow while it is read
                    throw tooLarge(source);
                }
                digest.update(buffer.duplicate());
                while (buffer.hasRemaining()) {
                    out.write(buffer);
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private BundleRefusedException tooLarge(Path source) {
        return new BundleRefusedException(
                Reason.NO_BUNDLE, "a bundle has at most " + maxJarBytes + " bytes, and " + source + " has more");
    }

    /** Returns the hash of a file, in hexadecimal. */
    static String sha256(Path file) throws IOException {
        MessageDigest digest = sha256();
        ByteBuffer buffer = ByteBuffer.allocate(COPY_BYTES);
        try (SeekableByteChannel in =
                Files.newByteChannel(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            while (in.read(buffer.clear()) >= 0) {
                digest.update(buffer.flip());
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Returns the reason without the file's name, which is the whole text of some JDK exceptions. */
    public static String describe(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "it isn't there";
        }
        if (e instanceof AccessDeniedException) {
            return "this user may not read it";
        }
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }

    /**
     * Returns why no directory can be created below this one, as an addition to an error; empty if one can. The
     * framework creates its directories with {@link java.io.File}, which hides the reason.
     */
    public static String whyNoDirectory(Path parent) {
        try {
            Files.delete(Files.createTempDirectory(parent, "probe"));
            return "";
        } catch (IOException e) {
            return "; no directory can be made below " + parent + ": " + describe(e);
        }
    }

    private static void deleteQuietly(Path copy) {
        try {
            Files.deleteIfExists(copy);
        } catch (IOException e) {
            LOG.warn("The copy {} can't be deleted and stays until the next start: {}", copy, describe(e));
        }
    }
}
