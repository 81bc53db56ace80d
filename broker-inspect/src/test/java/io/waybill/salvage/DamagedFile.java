package io.waybill.salvage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A file, and every way to damage it a little: they are numbered. One thread. */
final class DamagedFile {

    private static final int SECTOR = 512;
    private static final int BEHIND = 64;

    private enum Kind {
        FLIP,
        CUT,
        ZERO,
        SWAP
    }

    /**
     * One way.
     *
     * @param at bit, length or sector
     * @param other sector that is swapped with it
     */
    record Change(Kind kind, long at, long other) {}

    /** A range of bytes. */
    record Position(long from, long to) {}

    private final Path path;
    private final Map<Long, Position> records;
    private final byte[] bytes;
    private final long size;

    /** @param records where each record lies */
    DamagedFile(Path path, Map<Long, Position> records) throws IOException {
        this.path = path;
        this.records = records;
        this.size = Files.size(path);
        byte[] all = Files.readAllBytes(path);
        int used = all.length;
        while (used > 0 && all[used - 1] == 0) {
            used--;
        }
        this.bytes = Arrays.copyOf(all, Math.min(all.length, (used + BEHIND + SECTOR - 1) & -SECTOR));
    }

    long sizeBytes() {
        return size;
    }

    private long sectors() {
        return bytes.length / SECTOR;
    }

    long changes() {
        return sectorChanges() + 3 * sectors();
    }

    /** The number of the first way that changes whole sectors; all behind it do. */
    long sectorChanges() {
        return 8L * bytes.length + bytes.length;
    }

    Change change(long number) {
        long left = number;
        if (left < 8L * bytes.length) {
            return new Change(Kind.FLIP, left, 0);
        }
        left -= 8L * bytes.length;
        if (left < bytes.length) {
            return new Change(Kind.CUT, left, 0);
        }
        left -= bytes.length;
        long sector = left % sectors();
        return switch ((int) (left / sectors())) {
            case 0 -> new Change(Kind.ZERO, sector, 0);
            case 1 -> new Change(Kind.SWAP, sector, (sector * 7 + 3) % sectors());
            default -> new Change(Kind.SWAP, sector, (sector + 1) % sectors());
        };
    }

    private List<Position> ranges(Change change) {
        return switch (change.kind()) {
            case FLIP -> List.of(new Position(change.at() / 8, change.at() / 8 + 1));
            case CUT -> List.of(new Position(change.at(), size));
            case ZERO -> List.of(sector(change.at()));
            case SWAP -> List.of(sector(change.at()), sector(change.other()));
        };
    }

    private static Position sector(long number) {
        return new Position(number * SECTOR, (number + 1) * SECTOR);
    }

    /** The records that a change reaches. */
    Set<Long> touched(Change change) {
        Set<Long> touched = new HashSet<>();
        List<Position> ranges = ranges(change);
        records.forEach((sequence, position) -> {
            if (ranges.stream().anyMatch(range -> range.from() < position.to() && position.from() < range.to())) {
                touched.add(sequence);
            }
        });
        return touched;
    }

    void apply(Change change) throws IOException {
        int at = (int) change.at();
        switch (change.kind()) {
            case FLIP -> write(at / 8, new byte[] {(byte) (bytes[at / 8] ^ 1 << at % 8)});
            case CUT -> {
                try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                    channel.truncate(at);
                }
            }
            case ZERO -> write(at * SECTOR, new byte[SECTOR]);
            case SWAP -> {
                int other = (int) change.other();
                write(at * SECTOR, Arrays.copyOfRange(bytes, other * SECTOR, (other + 1) * SECTOR));
                write(other * SECTOR, Arrays.copyOfRange(bytes, at * SECTOR, (at + 1) * SECTOR));
            }
        }
    }

    void restore() throws IOException {
        write(0, bytes);
        if (Files.size(path) < size) {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.allocate(1), size - 1);
            }
        }
    }

    private void write(long at, byte[] some) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(some), at);
        }
    }
}
