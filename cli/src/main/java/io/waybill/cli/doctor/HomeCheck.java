package io.waybill.cli.doctor;

import io.waybill.home.Home;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/** Checks the home: its permissions, its file system and the free space; and the file system in memory. Stateless. */
final class HomeCheck {

    private static final long NEEDED_BYTES = 64L << 20;
    private static final long GOOD_BYTES = 1L << 30;
    private static final Set<String> LOCAL = Set.of("ext4", "xfs", "btrfs", "f2fs");
    private static final Set<String> PASSING = Set.of("tmpfs", "ramfs", "overlay");
    private static final String ELSEWHERE = "name another home with --home or WAYBILL_HOME";

    private HomeCheck() {}

    /** Adds the results. */
    static void run(Diagnoses findings, HostFiles files, Path home, Host host) {
        if (!isUsable(findings, home, host)) {
            return;
        }
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
            owner(findings, home, there);
            FileStore store = Files.getFileStore(there);
            fileSystem(findings, store.type());
            space(findings, store.getUsableSpace());
            sharedMemory(findings, files);
        } catch (IOException e) {
            findings.add(Health.WARNING, "home", "can't be looked at: " + e, ELSEWHERE);
        }
    }

    /** Checks the home in the same way as each command, so that the results agree. */
    private static boolean isUsable(Diagnoses findings, Path home, Host host) {
        try {
            if (Files.exists(home) && !Files.isDirectory(home)) {
                return true; // reported together with the directory in which a home can be created
            }
            Optional<Home> found = Home.look(home, host);
            if (found.isPresent()) {
                links(findings, found.get());
                identity(findings, found.get().identity());
            }
            return true;
        } catch (UnsafeFileException e) {
            findings.add(Health.MISSING, "home", e.getMessage(), "chmod 700 it if it is yours, or " + ELSEWHERE);
        } catch (IOException e) {
            findings.add(Health.MISSING, "home", String.valueOf(e.getMessage()), ELSEWHERE);
        }
        return false;
    }

    private static void identity(Diagnoses findings, HomeIdentity identity) {
        if (!identity.isLocal()) {
            findings.ok("identity", identity.toString());
        }
    }

    private static void links(Diagnoses findings, Home home) throws IOException {
        int names = home.hardLinks();
        if (home.isLinkedCopy()) {
            findings.add(
                    Health.MISSING,
                    "hard links",
                    home.path() + " is a copy of hard links to another home: it can be read, and not joined",
                    "copy the content, with cp -a: docs/operating/home.md");
        } else if (names > 1) {
            findings.add(
                    Health.WARNING,
                    "hard links",
                    home.path() + " has a snapshot that shares its files (" + names
                            + " hard links) and changes with them",
                    "copy with cp -a in place of cp -al: docs/operating/home.md");
        }
    }

    private static void owner(Diagnoses findings, Path home, Path there) throws IOException {
        if (!there.equals(home.toAbsolutePath().normalize())) {
            findings.ok("home", home + ", made by the first worker");
        } else {
            findings.ok("home", home + " of " + Files.getOwner(home).getName());
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
