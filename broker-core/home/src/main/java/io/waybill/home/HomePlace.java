package io.waybill.home;

import io.waybill.home.error.HomeException;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Checks the directory of a home: that its path is what its user meant, that it belongs to that user, and that it is no
 * copy of hard links. Stateless.
 */
final class HomePlace {

    private static final int OWNER_WRITE_AND_ENTER = 0300;
    private static final int MAX_TOP_ENTRIES = 10_000;

    private HomePlace() {}

    /** Checks that an existing home belongs to the user of this process. */
    static void requireOwner(Path home, SafeFiles files) throws IOException {
        int uid = (Integer) Files.getAttribute(home, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        if (uid != files.owner()) {
            throw new HomeException("home " + home + " can't be used: expected one of uid " + files.owner()
                    + ", which this process runs as, found one of uid " + uid
                    + "; run as that user, such as with sudo -u '#" + uid + "', root too");
        }
    }

    /**
     * Returns whether a home is a copy of hard links, such as {@code cp -al} makes: a worker that joins it would write
     * into the files of the original home. The home is no such copy any more when its files are no longer shared.
     */
    static boolean isLinkedCopy(Path home, HomeProperties properties, SafeFiles files) throws IOException {
        return properties.directory() != HomeProperties.UNKNOWN
                && properties.directory() != files.inode(home)
                && files.hardLinks(home.resolve(HomeProperties.FILE)) > 1;
    }

    /**
     * Refuses a copy of hard links; notes the directory of a home that was moved, restored, or created by an earlier
     * version.
     */
    static void requireJoinable(Path home, HomeProperties properties, SafeFiles files) throws IOException {
        long directory = files.inode(home);
        if (properties.directory() == directory) {
            return;
        }
        Path file = home.resolve(HomeProperties.FILE);
        if (isLinkedCopy(home, properties, files)) {
            throw new HomeException("home " + home + " can't be joined: expected files of its own, found a copy of hard"
                    + " links to another home (" + files.hardLinks(file) + " hard links to " + file
                    + "), whose files its workers would change; copy the content, with cp -a, and join that copy");
        }
        if (files.hardLinks(file) == 1) {
            HomeProperties.replaceDirectory(home, directory, files);
        }
    }

    /** Creates the directory of a home, and those above it. */
    static void createWithParents(Path home, SafeFiles files) throws IOException {
        if (Files.exists(home)) {
            return;
        }
        Path parent = home.getParent();
        if (parent != null) {
            createWithParents(parent, files);
        }
        files.createPrivateDirectory(home);
    }

    /** Checks that workers of this user can write into a home. */
    static void requireWritable(Path home, SafeFiles files) throws IOException {
        int mode = (Integer) Files.getAttribute(home, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        // the superuser may write regardless of the mode, but the mode was set on purpose
        if ((mode & OWNER_WRITE_AND_ENTER) != OWNER_WRITE_AND_ENTER || !Files.isWritable(home)) {
            throw new HomeException("home " + home + " is not writable: mode "
                    + String.format(Locale.ROOT, "%04o", mode & 07777) + ", uid " + files.owner());
        }
    }

    /** Checks that a new home is an empty directory, except for the entries of another process that creates it, too. */
    static void requireNothingElse(Path home, SafeFiles files) throws IOException {
        for (Path entry : files.list(home, MAX_TOP_ENTRIES)) {
            String name = entry.getFileName().toString();
            boolean ours = name.equals(Home.CLAIMS)
                    || name.equals("workers")
                    || name.equals(Home.PRESENT)
                    || name.equals(HomeProperties.FILE)
                    || name.startsWith("." + HomeProperties.FILE + ".");
            if (!ours) {
                throw new HomeException(
                        home + " is no home and not empty: it holds " + name + "; give an empty or a new directory");
            }
        }
    }
}
