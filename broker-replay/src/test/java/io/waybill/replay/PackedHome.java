package io.waybill.replay;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/**
 * A home in one compressed file: its directories, symbolic links and files, without the zeros that stand in blocks of their own, and without
 * FIFOs. For each entry: its kind, its path, and for a link the text, for a file the size and then its blocks.
 */
final class PackedHome {

    private static final int BLOCK = 4096;
    private static final int DIRECTORY = 0;
    private static final int LINK = 1;
    private static final int FILE = 2;
    private static final int END = 3;

    private PackedHome() {}

    static void pack(Path home, Path target) throws IOException {
        List<Path> entries;
        try (Stream<Path> all = Files.walk(home)) {
            entries = all.filter(path -> !path.equals(home)).sorted().toList();
        }
        try (DataOutputStream out = new DataOutputStream(new GZIPOutputStream(Files.newOutputStream(target)))) {
            for (Path entry : entries) {
                String name = home.relativize(entry).toString();
                if (Files.isSymbolicLink(entry)) {
                    begin(LINK, name, out);
                    out.writeUTF(Files.readSymbolicLink(entry).toString());
                } else if (Files.isDirectory(entry)) {
                    begin(DIRECTORY, name, out);
                } else if (Files.isRegularFile(entry, LinkOption.NOFOLLOW_LINKS)) {
                    begin(FILE, name, out);
                    packBlocks(entry, out);
                }
            }
            out.writeByte(END);
        }
    }

    private static void begin(int kind, String name, DataOutputStream out) throws IOException {
        out.writeByte(kind);
        out.writeUTF(name);
    }

    private static void packBlocks(Path file, DataOutputStream out) throws IOException {
        out.writeLong(Files.size(file));
        try (InputStream in = Files.newInputStream(file)) {
            long at = 0;
            for (byte[] block = in.readNBytes(BLOCK); block.length > 0; block = in.readNBytes(BLOCK)) {
                if (!isZero(block)) {
                    out.writeLong(at);
                    out.writeInt(block.length);
                    out.write(block);
                }
                at += block.length;
            }
        }
        out.writeLong(-1);
    }

    private static boolean isZero(byte[] block) {
        for (byte each : block) {
            if (each != 0) {
                return false;
            }
        }
        return true;
    }

    /** Makes the home again, private to this user. */
    static Path unpack(InputStream packed, Path home) throws IOException {
        directory(home);
        try (DataInputStream in = new DataInputStream(new GZIPInputStream(packed))) {
            for (int kind = in.readByte(); kind != END; kind = in.readByte()) {
                Path entry = home.resolve(in.readUTF());
                switch (kind) {
                    case DIRECTORY -> directory(entry);
                    case LINK -> Files.createSymbolicLink(entry, Path.of(in.readUTF()));
                    case FILE -> unpackBlocks(in, entry);
                    default -> throw new IOException("a packed home has no entries of kind " + kind);
                }
            }
        }
        return home;
    }

    private static void directory(Path path) throws IOException {
        Files.createDirectory(path);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
    }

    private static void unpackBlocks(DataInputStream in, Path file) throws IOException {
        long size = in.readLong();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (long at = in.readLong(); at >= 0; at = in.readLong()) {
                channel.write(ByteBuffer.wrap(in.readNBytes(in.readInt())), at);
            }
            if (channel.size() < size) { // a hole, and the last byte
                channel.write(ByteBuffer.allocate(1), size - 1);
            }
        }
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }
}
