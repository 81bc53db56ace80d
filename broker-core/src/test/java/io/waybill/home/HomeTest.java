package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.file.Files;
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
                .hasMessage("home " + path + " has format 7; this version reads 1");
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

        assertThatThrownBy(() -> Home.open(foreign, HOST)).hasMessageContaining("owner uid");
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
}
