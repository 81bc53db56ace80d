package io.waybill.osgi;

import io.waybill.api.policy.BundlePolicy;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.ComponentDeclaration;
import io.waybill.osgi.jar.FileMark;
import io.waybill.osgi.jar.KeptJars;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.osgi.framework.Version;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watched directory of bundles: a new jar is installed, a changed one updates its bundle, a removed one uninstalls
 * it. A file is accepted after two scans found it unchanged, so a file that is still being copied waits. Of several
 * jars for one bundle the highest version runs, and of equal versions the last one; when its file is removed, the next
 * one replaces it. A file is ignored if an operator installed a newer jar for its bundle by command.
 *
 * <p>A rejected file is reported once, and retried when the file changes, when a possible dependency arrived, such as
 * another bundle or a configuration, or when the disk has room for it.
 *
 * <p><b>Threads.</b> The scanning thread.
 */
final class BundleDirectory {

    private static final Logger LOG = LoggerFactory.getLogger(BundleDirectory.class);
    private static final String SUFFIX = ".jar";
    /** Max scans during which a missing file may be the same as a new file that is not stable yet. */
    private static final int MAX_MISSING = 3;

    private final OsgiSettings settings;
    private final Path directory;
    private final Staging staging;
    private final BundleControl control;
    private final KeptJars kept;
    private boolean starting; // true while the node starts: the start can then be cancelled before the next bundle
    private final Map<Path, Seen> files = new HashMap<>();
    private final Map<Path, String> problems = new ConcurrentSkipListMap<>(); // also read when bundles are listed
    private long lastArrivals; // arrivals at the last retry of the waiting files
    private long ownArrivals; // arrivals from this directory since then

    private enum Standing {
        /** The file was found once in its present form. */
        NEW,
        /** The file is ready to be installed. */
        STABLE,
        /** The bundle was installed. */
        TAKEN,
        /** A higher version of the bundle is in the directory. */
        OLDER,
        /** The bundle was rejected for a reason that another arrival may remove. */
        WAITING,
        /** The disk had no room for it. */
        NO_ROOM,
        /** The bundle was rejected. */
        REFUSED
    }

    /** State of a file. */
    private static final class Seen {
        FileMark mark; // null before the first scan
        Standing standing = Standing.NEW;
        int missing; // number of scans that did not find it
        String symbolicName; // of the jar when it was last stable, like the next fields; null if unknown
        Version version;
        String sha256;

        void has(StagedJar jar) {
            symbolicName = jar.symbolicName();
            version = jar.version();
            sha256 = jar.sha256();
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

    /** Updates the bundles from the files' current state, without waiting until they are stable. */
    void lookAtStart() {
        starting = true;
        look();
        look();
        starting = false;
    }

    /** Updates the bundles from the files' current state. */
    void look() {
        Map<Path, FileMark> found;
        try {
            found = FileMark.list(directory, SUFFIX);
        } catch (IOException e) {
            String problem = directory + " can't be read: " + Staging.describe(e);
            if (!problem.equals(problems.put(directory, problem))) {
                LOG.warn("{}; its bundles stay as they are until it can be", problem);
            }
            return;
        }
        problems.remove(directory);
        found.forEach(this::compare);
        takeStable();
        removeGone(found);
    }

    /** Returns the rejected files with the reasons. Any thread may call it. */
    Map<Path, String> problems() {
        return Map.copyOf(problems);
    }

    private void compare(Path file, FileMark mark) {
        Seen seen = files.computeIfAbsent(file, path -> new Seen());
        seen.missing = 0;
        if (!mark.equals(seen.mark)) {
            seen.mark = mark;
            seen.standing = Standing.NEW;
        } else if (seen.standing == Standing.NEW) {
            seen.standing = Standing.STABLE;
        }
    }

    private Stream<Seen> ofBundle(String symbolicName) {
        return files.values().stream().filter(seen -> symbolicName != null && symbolicName.equals(seen.symbolicName));
    }

    private void takeStable() {
        long arrivals = control.arrivals();
        ownArrivals = 0;
        boolean mayHelp = take(Standing.STABLE) | take(Standing.NO_ROOM) | arrivals != lastArrivals;
        while (mayHelp) {
            mayHelp = take(Standing.WAITING);
        }
        lastArrivals = arrivals + ownArrivals;
    }

    /** Installs the files in a given state; returns whether a bundle was installed. */
    private boolean take(Standing standing) {
        boolean cameIn = false;
        for (StagedJar jar : staged(seen -> seen.standing == standing)) {
            if (starting) {
                settings.requireNotCancelled();
            }
            cameIn |= take(jar, files.get(jar.source()));
        }
        return cameIn;
    }

    /** Stages files, ordered so that the last one of each bundle is the preferred one. */
    private List<StagedJar> staged(Predicate<Seen> which) {
        List<StagedJar> staged = new ArrayList<>();
        files.forEach((file, seen) -> {
            if (seen.missing == 0 && which.test(seen)) {
                try {
                    staged.add(staging.stage(file));
                } catch (BundleRefusedException e) {
                    refused(file, seen, e);
                }
            }
        });
        Comparator<StagedJar> order =
                Comparator.comparing(StagedJar::symbolicName).thenComparing(this::compareAge);
        // bundle policies first: they decide about the others
        staged.sort(starting ? Comparator.comparing(BundleDirectory::isOther).thenComparing(order) : order);
        return staged;
    }

    private static boolean isOther(StagedJar jar) {
        return ComponentDeclaration.in(jar.copy(), BundlePolicy.class).isEmpty();
    }

    private int compareAge(StagedJar one, StagedJar other) {
        return compareAge(one.version(), files.get(one.source()).mark, other.version(), files.get(other.source()).mark);
    }

    private static int compareAge(Version one, FileMark itsMark, Version other, FileMark othersMark) {
        int order = one.compareTo(other);
        return order != 0 ? order : itsMark.changed().compareTo(othersMark.changed());
    }

    private boolean take(StagedJar jar, Seen seen) {
        String before = seen.symbolicName;
        seen.has(jar);
        if (before != null && !before.equals(jar.symbolicName())) {
            giveUp(jar.source(), before);
        }
        Optional<StagedJar> running = control.installed(jar.symbolicName());
        if (running.filter(now -> now.sha256().equals(jar.sha256())).isPresent()
                || kept.isLater(jar.symbolicName(), jar.source())) {
            return leave(jar, seen, Standing.TAKEN);
        }
        if (running.filter(now -> isThere(now) && compareAge(now, jar) > 0).isPresent()) {
            LOG.info(
                    "{} is not installed: {} has {}",
                    jar.source(),
                    running.get().source(),
                    running.get());
            return leave(jar, seen, Standing.OLDER);
        }
        if (runsFrom(jar.source(), jar.symbolicName()) && isAnyNewer(jar, seen)) { // the file now has a lower version
            leave(jar, seen, Standing.OLDER);
            giveUp(jar.source(), jar.symbolicName());
            return true;
        }
        try {
            control.installWatched(jar);
            ownArrivals++;
            note(jar, seen, Standing.TAKEN);
            return true;
        } catch (BundleRefusedException e) {
            refused(jar.source(), seen, e);
            return false;
        }
    }

    private boolean leave(StagedJar jar, Seen seen, Standing standing) {
        note(jar, seen, standing);
        staging.discard(jar);
        return false;
    }

    private boolean isAnyNewer(StagedJar jar, Seen seen) {
        return ofBundle(jar.symbolicName())
                .anyMatch(other -> other.standing == Standing.OLDER
                        && other.missing == 0
                        && compareAge(other.version, other.mark, jar.version(), seen.mark) > 0);
    }

    private void note(StagedJar jar, Seen seen, Standing standing) {
        seen.standing = standing;
        problems.remove(jar.source());
    }

    /** Returns whether a running jar is still in the directory. */
    private boolean isThere(StagedJar running) {
        Seen seen = files.get(running.source());
        return seen != null && seen.missing == 0 && running.sha256().equals(seen.sha256);
    }

    private void refused(Path file, Seen seen, BundleRefusedException e) {
        Standing before = seen.standing;
        seen.standing = switch (e.reason()) {
            case UNRESOLVED, START_FAILED, POLICY_AWAY -> Standing.WAITING;
            case NO_ROOM -> Standing.NO_ROOM;
            default -> Standing.REFUSED;
        };
        problems.put(file, e.getMessage());
        if (before != Standing.WAITING && before != Standing.NO_ROOM) {
            LOG.error("{} is not taken: {}", file, e.getMessage());
        }
    }

    /**
     * Uninstalls the bundles of missing files, unless a new file may be the same file under another name or its
     * replacement.
     */
    private void removeGone(Map<Path, FileMark> found) {
        boolean isAnyNew = files.entrySet().stream()
                .anyMatch(file -> file.getValue().standing == Standing.NEW && found.containsKey(file.getKey()));
        List<Path> gone = new ArrayList<>();
        files.forEach((file, seen) -> {
            if (!found.containsKey(file) && (++seen.missing > MAX_MISSING || !isAnyNew)) {
                gone.add(file);
            }
        });
        for (Path file : gone) {
            String symbolicName = files.remove(file).symbolicName;
            problems.remove(file);
            if (symbolicName != null) {
                giveUp(file, symbolicName);
            }
        }
    }

    /** Replaces a file that no longer provides its bundle with another file, or uninstalls the bundle. */
    private void giveUp(Path file, String symbolicName) {
        if (!runsFrom(file, symbolicName)) {
            return;
        }
        List<StagedJar> others =
                staged(seen -> symbolicName.equals(seen.symbolicName) && seen.standing != Standing.NEW);
        Collections.reverse(others); // the highest version first
        for (StagedJar next : others) {
            if (!runsFrom(file, symbolicName)) {
                files.get(next.source()).standing = Standing.OLDER;
                staging.discard(next);
            } else if (!control.runsSame(next)) {
                take(next, files.get(next.source()));
            }
        }
        if (runsFrom(file, symbolicName)) {
            uninstall(file, symbolicName);
        }
    }

    private boolean runsFrom(Path file, String symbolicName) {
        return control.installed(symbolicName)
                .filter(jar -> jar.source().equals(file))
                .isPresent();
    }

    private void uninstall(Path file, String symbolicName) {
        try {
            control.uninstall(symbolicName);
            ofBundle(symbolicName)
                    .filter(seen -> seen.standing == Standing.WAITING)
                    .forEach(seen -> seen.standing = Standing.STABLE); // files that it suppressed may be installed now
        } catch (BundleRefusedException e) {
            LOG.error("{} went, and its bundle can't be removed: {}", file, e.getMessage());
        }
    }
}
