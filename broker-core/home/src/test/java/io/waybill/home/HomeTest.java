package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class HomeTest {
    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    @Test
    void makesAPrivateHome() throws IOException {
        Home home = Home.open(dir.resolve("a/home"), HOST, "FAST_DAILY");

        assertThat(Files.getPosixFilePermissions(home.path())).isEqualTo(PosixFilePermissions.fromString("rwx------"));
        assertThat(home.rollCycle()).isEqualTo("FAST_DAILY");
        assertThat(Home.open(dir.resolve("a/home"), HOST).rollCycle()).isEqualTo("FAST_DAILY");
        assertThat(Home.openExisting(dir.resolve("a/home"), HOST).path()).isEqualTo(home.path());
    }

    @Test
    void refusesAnotherFormatByName() throws IOException {
        Path path = Home.open(dir.resolve("home"), HOST).path();
        Files.writeString(path.resolve("home.properties"), "format=7\nroll.cycle=FAST_HOURLY\n");

        assertThatThrownBy(() -> Home.open(path, HOST))
                .isInstanceOf(HomeException.class)
                .hasMessage("home " + path + " can't be used: expected format 1 or 2, found 7 in "
                        + path.resolve("home.properties")
                        + "; use the version of Waybill that made it, or a later one");
    }

    @Test
    void refusesDamagedProperties() throws IOException {
        Path path = Home.open(dir.resolve("home"), HOST).path();
        Path file = path.resolve("home.properties");

        Files.writeString(file, "");
        assertThatThrownBy(() -> Home.open(path, HOST)).hasMessage(file + ": expected a format, found none");
        Files.writeString(file, "format=1\nroll.cycle=../x\n");
        assertThatThrownBy(() -> Home.open(path, HOST)).isInstanceOf(MalformedHomeFileException.class);
        Files.writeString(file, "format=\\u00zz");
        assertThatThrownBy(() -> Home.open(path, HOST)).isInstanceOf(MalformedHomeFileException.class);
        Files.write(file, new byte[10_000]);
        assertThatThrownBy(() -> Home.open(path, HOST)).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void refusesWhatIsNoPlainFileInPlaceOfItsProperties() throws IOException {
        Path path = Home.open(dir.resolve("home"), HOST).path();
        Path file = path.resolve("home.properties");

        Files.delete(file);
        HOST.files().openOwnFifo(file).close();
        assertThatThrownBy(() -> Home.open(path, HOST)).hasMessage(file + ": expected a regular file, found a FIFO");
        Files.delete(file);
        Files.createDirectory(file);
        assertThatThrownBy(() -> Home.open(path, HOST)).hasMessageContaining("found a directory");
        Files.delete(file);
        Files.createSymbolicLink(file, dir.resolve("elsewhere"));
        assertThatThrownBy(() -> Home.open(path, HOST)).hasMessageContaining("found a symbolic link");
    }

    @Test
    void refusesAHomeThatOthersMayEnter() throws IOException {
        Path path = Home.open(dir.resolve("home"), HOST).path();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-x---"));

        assertThatThrownBy(() -> Home.open(path, HOST))
                .hasMessage(path + ": expected mode 0700, closed to group and others, found mode 0750");
    }

    @Test
    void refusesAHomeOfAnotherUser() {
        Path foreign = HOST.files().owner() == 0 ? chownedHome() : Path.of("/etc");

        assertThatThrownBy(() -> Home.open(foreign, HOST))
                .isInstanceOf(HomeException.class)
                .hasMessageContaining("home " + foreign + " can't be used: expected one of uid "
                        + HOST.files().owner())
                .hasMessageContaining("run as that user");
        assertThatThrownBy(() -> Home.openExisting(foreign, HOST)).hasMessageContaining("run as that user");
    }

    private Path chownedHome() {
        try {
            Path path = Home.open(dir.resolve("home"), HOST).path();
            Files.setAttribute(path, "unix:uid", 12345);
            return path;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void refusesAHomeThatIsNotWritable() throws IOException {
        Path path = Home.open(dir.resolve("home"), HOST).path();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("r-x------"));
        try {
            assertThatThrownBy(() -> Home.open(path, HOST))
                    .hasMessageStartingWith("home " + path + " is not writable: mode 0500");
        } finally {
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void saysThatAHomeCannotBeMade() {
        assertThatThrownBy(() -> Home.open(Path.of("/proc/waybill/home"), HOST))
                .isInstanceOf(HomeException.class)
                .hasMessageStartingWith("home /proc/waybill/home can't be opened or made");
    }

    @Test
    void refusesToTurnAFullDirectoryIntoAHome() throws IOException {
        Path path = HOST.files().createPrivateDirectory(dir.resolve("full"));
        Files.createFile(path.resolve("letter.txt"));

        assertThatThrownBy(() -> Home.open(path, HOST)).hasMessageContaining("it holds letter.txt");
        assertThat(HOST.files().list(path, 10)).hasSize(1);
    }

    @Test
    void looksOnlyAtWhatIsThere() {
        assertThatThrownBy(() -> Home.openExisting(dir.resolve("none"), HOST))
                .hasMessage("no home at " + dir.resolve("none"));
        assertThatThrownBy(() -> Home.openExisting(dir, HOST)).hasMessageContaining("it has no home.properties");
    }

    @Test
    void isMadeOnceByManyAtOnce() throws Exception {
        Path path = dir.resolve("home");
        Race.Result<String> result =
                Race.run(8, i -> Home.open(path, HOST, "CYCLE_" + i).rollCycle());

        assertThat(result.failures()).isEmpty();
        assertThat(result.values()).hasSize(8).containsOnly(result.values().get(0));
    }

    private Path snapshot(Home home, String name) throws Exception {
        Path copy = dir.resolve(name);
        Process made = new ProcessBuilder("cp", "-al", home.path().toString(), copy.toString())
                .inheritIO()
                .start();
        assertThat(made.waitFor()).isZero();
        return copy;
    }

    @Test
    void goesOnBesideASnapshotOfHardLinks() throws Exception {
        Home home = Home.open(dir.resolve("home"), HOST);
        try (WorkerDirectory alive = home.join("ps0")) {
            snapshot(home, "snapshot");

            Home again = Home.open(home.path(), HOST);
            again.join("ps1").leave();
            try (Membership membership = new Membership(Home.openExisting(home.path(), HOST))) {
                membership.refresh();
                assertThat(membership.find("ps0").orElseThrow().epoch()).isEqualTo(alive.epoch());
            }
        }
        try (WorkerDirectory next = home.join("ps0")) {
            assertThat(next.epoch()).isEqualTo(2);
            assertThat(next.cursors().origin()).isNotEqualTo(Cursors.Origin.REPLACED);
        }
        assertThat(home.hardLinks()).isEqualTo(2);
    }

    @Test
    void isNotJoinedInACopyOfHardLinksUntilItsFilesAreItsOwn() throws Exception {
        Home home = Home.open(dir.resolve("home"), HOST);
        home.join("ps0").leave();
        Path copy = snapshot(home, "copy");

        for (String name : new String[] {"ps0", "another"}) {
            assertThatThrownBy(() -> Home.open(copy, HOST).join(name))
                    .hasMessage(
                            "home " + copy + " can't be joined: expected files of its own, found a copy of hard links"
                                    + " to another home (2 hard links to " + copy.resolve("home.properties")
                                    + "), whose files its workers would change; copy the content, with cp -a, and join that copy");
        }
        try (Membership membership = new Membership(Home.openExisting(copy, HOST))) {
            membership.refresh();
            assertThat(membership.find("ps0")).isPresent(); // it may be read
        }
        DirectoryTree.remove(home.path());
        Home.open(copy, HOST).join("ps0").leave();
        assertThat(Files.readString(copy.resolve("home.properties")))
                .contains("directory=" + HOST.files().inode(copy));
        snapshot(Home.open(copy, HOST), "later");
        Home.open(copy, HOST).join("ps0").leave();
    }

    @Test
    void notesItsPlaceInAHomeThatAnEarlierVersionMade() throws Exception {
        Home home = Home.open(dir.resolve("home"), HOST);
        Path properties = home.path().resolve("home.properties");
        Files.writeString(properties, "format=1\nroll.cycle=MINUTELY\npermissions=owner\n");

        Home.open(home.path(), HOST).join("ps0").leave();
        assertThat(Files.readString(properties))
                .contains("directory=" + HOST.files().inode(home.path()));
    }

    @Test
    void isNotMadeBehindALinkOfAnotherUser() throws Exception {
        Path elsewhere = HOST.files().createPrivateDirectory(dir.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(dir.resolve("link"), elsewhere);
        Home.open(link.resolve("home"), HOST).join("ps0").leave(); // its own link leads where it wants
        assumeTrue(HOST.files().owner() == 0, "only root gives a link away");

        Files.setAttribute(link, "unix:uid", 12345, LinkOption.NOFOLLOW_LINKS);
        for (Path path : new Path[] {link, link.resolve("home"), link.resolve("new/home")}) {
            assertThatThrownBy(() -> Home.open(path, HOST))
                    .isInstanceOf(UnsafeFileException.class)
                    .hasMessageContaining(link + ": ")
                    .hasMessageContaining("a symbolic link owned by uid 12345, which is not followed");
            assertThatThrownBy(() -> Home.openExisting(path, HOST)).isInstanceOf(UnsafeFileException.class);
            assertThatThrownBy(() -> Home.openDamaged(path, HOST)).isInstanceOf(UnsafeFileException.class);
        }
        assertThat(elsewhere.resolve("new")).doesNotExist();
        assertThat(elsewhere.resolve("home.properties")).doesNotExist();
    }
}
