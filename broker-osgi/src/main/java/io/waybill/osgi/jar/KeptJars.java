package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The jars that an operator installed by command. The framework forgets its bundles when the node exits; these are
 * reinstalled at the next start. One file per bundle, in a private directory.
 *
 * <p><b>Threads.</b> One operation at a time.
 */
public final class KeptJars {

    private static final Logger LOG = LoggerFactory.getLogger(KeptJars.class);

    private final Path directory;

    /** Policy for the kept jar of a bundle when another jar is installed. */
    public enum Keeping {
        /** The other jar is kept. */
        REPLACE,
        /** The other jar has its own source: no jar is kept. */
        FORGET,
        /** The kept jar stays, because it is being installed at a start. */
        LEAVE
    }

    public KeptJars(Path directory) throws IOException {
        this.directory = directory;
        Staging.createPrivate(directory);
    }

    /**
     * Applies the policy to the kept jar of a bundle. If that fails, returns a description of the jar that the next
     * start will install; the bundle serves nevertheless.
     */
    public Optional<String> apply(Keeping keeping, StagedJar jar) {
        return switch (keeping) {
            case REPLACE -> keep(jar);
            case FORGET -> forget(jar.symbolicName());
            case LEAVE -> Optional.empty();
        };
    }

    /**
     * Keeps a jar for the next start in place of the bundle's present one. If that fails, returns a description of the
     * jar that the next start will install.
     */
    private Optional<String> keep(StagedJar jar) {
        Path file = file(jar.symbolicName());
        Path unfinished = file.resolveSibling("." + file.getFileName());
        try {
            Files.copy(jar.copy(), unfinished, StandardCopyOption.REPLACE_EXISTING);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            return Optional.empty();
        } catch (IOException e) {
            String next = Files.exists(file) ? "has the jar that was installed before" : "will miss it";
            return Optional.of(reported(jar + " can't be kept, and the next start " + next, e));
        }
    }

    /** Removes the kept jar of a bundle. If that fails, returns a text that the jar will be reinstalled. */
    public Optional<String> forget(String symbolicName) {
        try {
            Files.deleteIfExists(file(symbolicName));
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(reported(symbolicName + " comes back at the next start", e));
        }
    }

    private static String reported(String what, IOException cause) {
        String problem = what + ": " + Staging.describe(cause);
        LOG.error("{}", problem);
        return problem;
    }

    /** Returns the kept jars, by name. */
    public List<Path> jars() throws IOException {
        return FileMark.list(directory, ".jar").keySet().stream().sorted().toList();
    }

    /** Returns whether the kept jar of a bundle arrived later than this file. */
    public boolean isLater(String symbolicName, Path other) {
        try {
            Path file = file(symbolicName);
            return Files.exists(file) && arrived(file).compareTo(arrived(other)) > 0;
        } catch (IOException e) {
            LOG.warn("{} and what is kept can't be compared: {}", other, Staging.describe(e));
            return false;
        }
    }

    /** Returns the time of the last write, rename or link: a copy may preserve an older modification time. */
    private static FileTime arrived(Path file) throws IOException {
        return (FileTime) Files.getAttribute(file, "unix:ctime", LinkOption.NOFOLLOW_LINKS);
    }

    private Path file(String symbolicName) {
        return directory.resolve(symbolicName + ".jar");
    }
}
