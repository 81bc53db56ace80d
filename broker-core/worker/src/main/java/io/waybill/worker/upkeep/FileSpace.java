package io.waybill.worker.upkeep;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reserves space in the worker's own files. Thread-safe. */
public record FileSpace(SafeFiles files) implements DiskSpace {

    private static final Logger LOG = LoggerFactory.getLogger(FileSpace.class);
    private static final long PAGE_BYTES = 4096;

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        // checked first: ext4 keeps what a failed attempt allocated, and so would use up the space of others
        long left = Files.getFileStore(file.getParent()).getUsableSpace();
        if (left < length) {
            throw new IOException(
                    "no room for " + length + " bytes on the disk of " + file + ", which has " + left + " bytes left");
        }
        try (NativeFile opened = files.openOwnNative(file)) {
            opened.reserve(offset, length);
        }
    }

    @Override
    public void remove(Path file) throws IOException {
        files.remove(file);
    }

    @Override
    public void fill(Path file, long offset, long length) throws IOException {
        try (NativeFile opened = files.openExistingNative(file)) {
            opened.writeZeros(offset, length);
        }
    }

    @Override
    public void giveBack(Path file, long offset, long length) {
        long from = (offset + PAGE_BYTES - 1) & -PAGE_BYTES;
        long to = (offset + length) & -PAGE_BYTES;
        if (to <= from) {
            return;
        }
        try (NativeFile opened = files.openExistingNative(file)) {
            long size = opened.size();
            if (from < size) {
                opened.punchHole(from, Math.min(to, size) - from);
            }
            if (from <= size && to > size) {
                opened.truncate(size); // which frees the space reserved after the end: a hole can't be punched there
            }
        } catch (IOException e) {
            notGivenBack(file, e);
        }
    }

    @Override
    public void giveBackZeros(Path file, long offset, long length) {
        ByteBuffer page = ByteBuffer.allocate((int) PAGE_BYTES);
        try (NativeFile opened = files.openExistingNative(file);
                FileChannel channel = files.channelOf(opened)) {
            long to = Math.min(channel.size(), offset + length);
            for (long at = offset & -PAGE_BYTES; at < to; at += PAGE_BYTES) {
                page.clear();
                if (channel.read(page, at) > 0 && isZero(page.flip())) {
                    opened.punchHole(at, PAGE_BYTES);
                }
            }
        } catch (IOException e) {
            notGivenBack(file, e);
        }
    }

    private static boolean isZero(ByteBuffer page) {
        for (int i = 0; i < page.limit(); i++) {
            if (page.get(i) != 0) {
                return false;
            }
        }
        return true;
    }

    private static void notGivenBack(Path file, IOException e) {
        if (e instanceof NoSuchFileException) {
            LOG.debug("{} was removed before what it had reserved was given back", file);
        } else {
            LOG.warn("{}: what was reserved and is not needed could not be given back: {}", file, e.getMessage());
        }
    }
}
