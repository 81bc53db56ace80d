package io.waybill.osgi.jar;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The jars that an operator installed by command: the framework forgets everything when the node ends, and these are installed again
 * when it starts. One file per bundle, in a private directory.
 *
 * <p><b>Threads.</b> One operation at a time.
 */
public final class KeptJars {

    private static final Logger LOG = LoggerFactory.getLogger(KeptJars.class);

    private final Path directory;

    public KeptJars(Path directory) throws IOException {
        this.directory = directory;
        Staging.createPrivate(directory);
    }

    /** Keeps a jar for the next start, replacing the one kept for its bundle. A failure affects nothing else. */
    public void keep(StagedJar jar) {
        Path file = file(jar.symbolicName());
        Path unfinished = file.resolveSibling("." + file.getFileName());
        try {
            Files.copy(jar.copy(), unfinished, StandardCopyOption.REPLACE_EXISTING);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            LOG.error("{} can't be kept, and will be missing at the next start: {}", jar, Staging.describe(e));
        }
    }

    /** Removes the kept jar of a bundle. */
    public void forget(String symbolicName) {
        try {
            Files.deleteIfExists(file(symbolicName));
        } catch (IOException e) {
            LOG.error("{} comes back at the next start: {}", symbolicName, Staging.describe(e));
        }
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

    /** Returns when the file was written, renamed or linked last: a copy may preserve an older time of its content. */
    private static FileTime arrived(Path file) throws IOException {
        return (FileTime) Files.getAttribute(file, "unix:ctime", LinkOption.NOFOLLOW_LINKS);
    }

    private Path file(String symbolicName) {
        return directory.resolve(symbolicName + ".jar");
    }
}
