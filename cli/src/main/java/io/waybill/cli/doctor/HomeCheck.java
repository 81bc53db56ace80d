package io.waybill.cli.doctor;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Checks the home: its permissions, its file system and the space there; and the memory that is a file system. Stateless. */
final class HomeCheck {

    private static final long NEEDED_BYTES = 64L << 20;
    private static final long GOOD_BYTES = 1L << 30;
    private static final Set<String> LOCAL = Set.of("ext4", "xfs", "btrfs", "f2fs");
    private static final Set<String> PASSING = Set.of("tmpfs", "ramfs", "overlay");
    private static final Set<PosixFilePermission> OPEN_TO_OTHERS = Set.of(
            PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_WRITE,
            PosixFilePermission.GROUP_READ,
            PosixFilePermission.OTHERS_READ);
    private static final String ELSEWHERE = "name another home with --home or WAYBILL_HOME";

    private HomeCheck() {}

    /** Adds what there is to say. */
    static void run(Diagnoses findings, HostFiles files, Path home) {
        Path there = home.toAbsolutePath().normalize();
        while (!Files.exists(there)) {
            there = there.getParent();
        }
        if (!Files.isDirectory(there) || !Files.isWritable(there)) {
            findings.add(
                    Health.MISSING,
                    "home",
                    home + ": " + there + (Files.isDirectory(there) ? " may not be written" : " is no directory"),
                    "take a directory of your own: " + ELSEWHERE);
            return;
        }
        try {
            permissions(findings, home, there);
            FileStore store = Files.getFileStore(there);
            fileSystem(findings, store.type());
            space(findings, store.getUsableSpace());
            sharedMemory(findings, files);
        } catch (IOException e) {
            findings.add(Health.WARNING, "home", "can't be looked at: " + e, ELSEWHERE);
        }
    }

    private static void permissions(Diagnoses findings, Path home, Path there) throws IOException {
        if (!there.equals(home.toAbsolutePath().normalize())) {
            findings.ok("home", home + ", made by the first worker");
            return;
        }
        String owner = Files.getOwner(home).getName();
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(home);
        if (permissions.stream().anyMatch(OPEN_TO_OTHERS::contains)) {
            findings.add(
                    Health.MISSING,
                    "home",
                    home + " of " + owner + ", " + PosixFilePermissions.toString(permissions),
                    "chmod 700 it: a home is for one user");
        } else {
            findings.ok("home", home + " of " + owner);
        }
    }

    private static void fileSystem(Diagnoses findings, String type) {
        if (LOCAL.contains(type)) {
            findings.ok("file system", type);
        } else if (PASSING.contains(type)) {
            findings.add(
                    Health.NOTE,
                    "file system",
                    type + ": what is in it goes with the host or the container",
                    "mount a disk there if journals must stay: " + ELSEWHERE);
        } else {
            findings.add(
                    Health.WARNING,
                    "file system",
                    type,
                    "use a local ext4, xfs or btrfs: workers map files, lock them and reserve space ahead; "
                            + ELSEWHERE);
        }
    }

    private static void space(Diagnoses findings, long bytes) {
        String found = Sizes.text(bytes) + " free";
        if (bytes < NEEDED_BYTES) {
            findings.add(
                    Health.MISSING, "disk space", found, "free some, 64 MiB at least: docs/operating/full-disk.md");
        } else if (bytes < GOOD_BYTES) {
            findings.add(
                    Health.WARNING,
                    "disk space",
                    found,
                    "free some, or limit what is kept with retention.max-bytes: docs/operating/retention.md");
        } else {
            findings.ok("disk space", found);
        }
    }

    private static void sharedMemory(Diagnoses findings, HostFiles files) throws IOException {
        Path directory = files.at("dev/shm");
        if (!Files.isDirectory(directory)) {
            findings.add(Health.NOTE, "/dev/shm", "not there", "mount a tmpfs there if you want a home in memory");
            return;
        }
        FileStore store = Files.getFileStore(directory);
        String found = Sizes.text(store.getTotalSpace()) + ", " + Sizes.text(store.getUsableSpace()) + " free";
        if (store.getTotalSpace() < GOOD_BYTES) {
            findings.add(
                    Health.NOTE,
                    "/dev/shm",
                    found,
                    "make it larger if you want a home in memory: docker run --shm-size=4g, or mount -o remount,size=4g"
                            + " /dev/shm");
        } else {
            findings.ok("/dev/shm", found);
        }
    }
}
