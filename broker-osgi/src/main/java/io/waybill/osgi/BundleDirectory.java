package io.waybill.osgi;

import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.FileMark;
import io.waybill.osgi.jar.KeptJars;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watched directory of bundles: a new jar is installed, a changed one updates its bundle, a removed one uninstalls
 * it. A file is accepted when two scans find it unchanged, so a file that is still being copied waits.
 *
 * <p>A rejected file is reported once, and retried when the file changes, when another bundle was installed that it
 * may have needed, or when the disk has room for it.
 *
 * <p><b>Threads.</b> The scanning thread.
 */
final class BundleDirectory {

    private static final Logger LOG = LoggerFactory.getLogger(BundleDirectory.class);
    private static final String SUFFIX = ".jar";

    private final OsgiSettings settings;
    private final Path directory;
    private final Staging staging;
    private final BundleControl control;
    private final KeptJars kept;
    private final Map<Path, Seen> files = new HashMap<>();
    private final Map<Path, String> problems = new ConcurrentSkipListMap<>(); // also read when bundles are listed
    private boolean atStart;

    private enum Standing {
        /** Seen once as it is. */
        NEW,
        /** To be installed. */
        STABLE,
        /** The bundle runs. */
        TAKEN,
        /** The bundle was rejected, for a reason that may pass when another one comes. */
        WAITING,
        /** The disk had no room for it. */
        NO_ROOM,
        /** The bundle was rejected. */
        REFUSED
    }

    /** State of a file. */
    private static final class Seen {
        FileMark mark;
        Standing standing = Standing.NEW;
        String symbolicName; // of the bundle in this file; null when it isn't known

        Seen(FileMark mark) {
            this.mark = mark;
        }
    }

    BundleDirectory(OsgiSettings settings, Staging staging, BundleControl control, KeptJars kept) throws IOException {
        this.settings = settings;
        this.directory = settings.watched();
        this.staging = staging;
        this.control = control;
        this.kept = kept;
        Files.createDirectories(directory);
    }

    /**
     * Updates the bundles to the files' current state, without waiting until they are stable. Skips a file that is
     * older than a jar that an operator installed for its bundle by command.
     */
    void lookAtStart() {
        atStart = true;
        look();
        look();
        atStart = false;
    }

    /** Updates the bundles to the files' current state. */
    void look() {
        Map<Path, FileMark> found;
        try {
            found = FileMark.list(directory, SUFFIX);
        } catch (IOException e) {
            LOG.warn("{} can't be read: {}", directory, Staging.describe(e));
            return;
        }
        removeGone(found);
        found.forEach(this::compare);
        takeStable();
    }

    /** The files that are not taken, and why. For any thread. */
    Map<Path, String> problems() {
        return Map.copyOf(problems);
    }

    private void removeGone(Map<Path, FileMark> found) {
        List<Path> gone =
                files.keySet().stream().filter(file -> !found.containsKey(file)).toList();
        for (Path file : gone) {
            String symbolicName = files.remove(file).symbolicName;
            problems.remove(file);
            boolean runs = symbolicName != null
                    && control.installed(symbolicName)
                            .filter(jar -> jar.source().equals(file))
                            .isPresent();
            if (runs) {
                try {
                    control.uninstall(symbolicName);
                } catch (BundleRefusedException e) {
                    LOG.error("{} went, and its bundle can't be removed: {}", file, e.getMessage());
                }
            }
        }
    }

    private void compare(Path file, FileMark mark) {
        Seen seen = files.computeIfAbsent(file, path -> new Seen(null));
        if (!mark.equals(seen.mark)) {
            seen.mark = mark;
            seen.standing = Standing.NEW;
        } else if (seen.standing == Standing.NEW) {
            seen.standing = Standing.STABLE;
        }
    }

    private void takeStable() {
        boolean cameIn = take(Standing.STABLE) | take(Standing.NO_ROOM);
        while (cameIn) {
            cameIn = take(Standing.WAITING);
        }
    }

    /** Installs the files in this state. Returns whether a bundle was installed. */
    private boolean take(Standing standing) {
        List<StagedJar> staged = new ArrayList<>();
        for (Map.Entry<Path, Seen> file : files.entrySet()) {
            if (file.getValue().standing == standing) {
                try {
                    staged.add(staging.stage(file.getKey()));
                } catch (BundleRefusedException e) {
                    refused(file.getKey(), file.getValue(), standing, e);
                }
            }
        }
        // of two versions of a bundle the newer comes last and stays
        staged.sort(Comparator.comparing(StagedJar::symbolicName).thenComparing(StagedJar::version));
        boolean cameIn = false;
        for (StagedJar jar : staged) {
            if (atStart) {
                settings.requireNotCancelled();
            }
            cameIn |= take(jar, files.get(jar.source()), standing);
        }
        return cameIn;
    }

    private boolean take(StagedJar jar, Seen seen, Standing before) {
        seen.symbolicName = jar.symbolicName();
        boolean runsAlready = control.installed(jar.symbolicName())
                .filter(installed -> installed.sha256().equals(jar.sha256()))
                .isPresent();
        if (runsAlready || atStart && kept.isLater(jar.symbolicName(), jar.source())) {
            seen.standing = Standing.TAKEN;
            problems.remove(jar.source());
            staging.discard(jar);
            return false;
        }
        try {
            control.installWatched(jar);
            seen.standing = Standing.TAKEN;
            problems.remove(jar.source());
            return true;
        } catch (BundleRefusedException e) {
            refused(jar.source(), seen, before, e);
            return false;
        }
    }

    private void refused(Path file, Seen seen, Standing before, BundleRefusedException e) {
        seen.standing = switch (e.reason()) {
            case UNRESOLVED, START_FAILED -> Standing.WAITING;
            case NO_ROOM -> Standing.NO_ROOM;
            default -> Standing.REFUSED;
        };
        problems.put(file, e.getMessage());
        if (before != Standing.WAITING && before != Standing.NO_ROOM) {
            LOG.error("{} is not taken: {}", file, e.getMessage());
        }
    }
}
