package io.waybill.host;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;

/** Attributes of the file at a path. Immutable. */
record FoundFile(int mode, int uid, int links, long size, Object key) {
    private static final int TYPE_MASK = 0170000;
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final int OPEN_TO_OTHERS = 0077;
    private static final int ROOT = 0;
    /** Max number of followed links, as in Linux. */
    private static final int MAX_LINKS = 40;

    /** Kinds of objects that a path may name, with Linux's numbers. */
    enum Kind {
        FILE(0100000, "a regular file"),
        DIRECTORY(0040000, "a directory"),
        SYMLINK(0120000, "a symbolic link"),
        FIFO(0010000, "a FIFO"),
        SOCKET(0140000, "a socket"),
        CHARACTER_DEVICE(0020000, "a character device"),
        BLOCK_DEVICE(0060000, "a block device");

        private final int type;
        final String text;

        Kind(int type, String text) {
            this.type = type;
            this.text = text;
        }
    }

    /** Reads the attributes of the path itself: a link is not followed. */
    static FoundFile at(Path path) throws IOException {
        return of(path, LinkOption.NOFOLLOW_LINKS);
    }

    /** Reads the attributes of an open file. */
    static FoundFile openAs(NativeFile file) throws IOException {
        return of(file.descriptorPath());
    }

    private static FoundFile of(Path path, LinkOption... options) throws IOException {
        Map<String, Object> attributes = Files.readAttributes(path, "unix:mode,uid,nlink,size,fileKey", options);
        return new FoundFile(
                (Integer) attributes.get("mode"),
                (Integer) attributes.get("uid"),
                (Integer) attributes.get("nlink"),
                (Long) attributes.get("size"),
                attributes.get("fileKey"));
    }

    /**
     * Checks that each symbolic link in a path belongs to the owner or to root, up to the first missing element.
     *
     * @throws UnsafeFileException for the first one that does not
     */
    static void requireOwnLinks(Path path, int owner) throws IOException {
        Path reached = path.toAbsolutePath().getRoot();
        Deque<Path> names = new ArrayDeque<>();
        for (Path name : path.toAbsolutePath()) {
            names.add(name);
        }
        int links = 0;
        while (!names.isEmpty()) {
            Path next = reached.resolve(names.pop()).normalize();
            FoundFile found;
            try {
                found = at(next);
            } catch (NoSuchFileException e) {
                return;
            }
            if (!found.is(Kind.SYMLINK)) {
                reached = next;
                continue;
            }
            if (found.uid() != owner && found.uid() != ROOT) {
                throw new UnsafeFileException(
                        next,
                        "a directory, or a symbolic link owned by uid " + owner + " or root",
                        "a symbolic link owned by uid " + found.uid() + ", which is not followed");
            }
            if (++links > MAX_LINKS) {
                throw new FileSystemLoopException(path.toString());
            }
            Path target = Files.readSymbolicLink(next);
            reached = target.isAbsolute() ? target.getRoot() : reached;
            Deque<Path> rest = names;
            names = new ArrayDeque<>();
            target.forEach(names::add);
            names.addAll(rest);
        }
    }

    boolean is(Kind kind) {
        return (mode & TYPE_MASK) == kind.type;
    }

    /**
     * Checks all conditions for an object that the broker opens.
     *
     * @param path path, for the message
     * @param maxBytes max size of a regular file
     */
    FoundFile require(Kind kind, int owner, long maxBytes, Path path) throws UnsafeFileException {
        if (!is(kind)) {
            throw new UnsafeFileException(path, kind.text, kindText());
        }
        if (uid != owner) {
            throw new UnsafeFileException(path, kind.text + " owned by uid " + owner, "owner uid " + uid);
        }
        if ((mode & WRITABLE_BY_OTHERS) != 0) {
            throw new UnsafeFileException(path, kind.text + " that only its owner may write", "mode " + modeText());
        }
        // more names are no danger: without write access to a directory, no other user can give a file a name there
        if (kind != Kind.DIRECTORY && links == 0) {
            throw new UnsafeFileException.ReplacedFileException(path, kind.text + " with a name");
        }
        if (kind == Kind.FILE && size > maxBytes) {
            throw new UnsafeFileException(path, "at most " + maxBytes + " bytes", size + " bytes");
        }
        return this;
    }

    /** Checks that no user but the owner may read it. */
    FoundFile requirePrivate(Path path) throws UnsafeFileException {
        if ((mode & OPEN_TO_OTHERS) != 0) {
            throw new UnsafeFileException(path, "mode 0700, closed to group and others", "mode " + modeText());
        }
        return this;
    }

    String modeText() {
        return String.format(Locale.ROOT, "%04o", mode & 07777);
    }

    private String kindText() {
        for (Kind kind : Kind.values()) {
            if (is(kind)) {
                return kind.text;
            }
        }
        return "something of mode " + Integer.toOctalString(mode);
    }
}
