package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.WorkerInfo;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The host name and the range of worker ids of a home. */
@Timeout(60)
class HomeIdentityTest {
    private static final Host HOST = Host.real();
    private static final HomeIdentity H1 = new HomeIdentity("h1", 512, 514);

    @TempDir
    private Path directory;

    private Home home(HomeIdentity identity) throws IOException {
        return Home.open(directory.resolve("home"), HOST, Home.ROLL_CYCLE_DEFAULT, identity);
    }

    private Path file() {
        return directory.resolve("home/home.properties");
    }

    private static int join(Home home, String name, JoinOptions options) throws IOException {
        try (WorkerDirectory joined = home.join(name, options)) {
            return joined.info().id();
        }
    }

    private static int join(Home home, String name) throws IOException {
        return join(home, name, JoinOptions.defaults());
    }

    @Test
    void isLocalUnlessGiven() throws IOException {
        assertThat(Home.open(directory.resolve("home"), HOST).identity()).isEqualTo(HomeIdentity.LOCAL);
        assertThat(HomeIdentity.LOCAL).hasToString("host local with worker ids 0-511");
    }

    /** The file of a local home is that of the builds before, which read format 1 alone. */
    @Test
    void changesNoByteOfALocalHome() throws IOException {
        Home home = home(HomeIdentity.LOCAL);

        assertThat(file())
                .hasContent("# A Waybill home. All its workers go by it.\n"
                        + "format=1\nroll.cycle=MINUTELY\npermissions=owner\ndirectory="
                        + HOST.files().inode(home.path()) + "\n");
    }

    @Test
    void givesAHomeTheFormatThatEarlierBuildsRefuse() throws IOException {
        home(H1);

        assertThat(Files.readAllLines(file())).contains("format=2", "host=h1", "ids=512-514");
        assertThat(Home.openExisting(directory.resolve("home"), HOST).identity())
                .isEqualTo(H1);
        assertThat(home(HomeIdentity.LOCAL).identity()).isEqualTo(H1);
    }

    @Test
    void givesIdsOfItsRangeOnly() throws IOException {
        Home home = home(H1);

        assertThat(join(home, "a")).as("the first id of the range").isEqualTo(512);
        assertThat(join(home, "c", JoinOptions.defaults().withId(514))).isEqualTo(514);
        assertThat(join(home, "b")).isEqualTo(513);
        assertThat(join(home, "a")).isEqualTo(512);
        assertThatThrownBy(() -> join(home, "d"))
                .isInstanceOf(HomeException.class)
                .hasMessageContaining("all 3 ids of the home")
                .hasMessageContaining("remove --all-departed");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 511, 515, 32767})
    void refusesAWantedIdOfAnotherHost(int id) throws IOException {
        Home home = home(H1);

        assertThatThrownBy(() -> join(home, "a", JoinOptions.defaults().withId(id)))
                .as("a join with the id %s, which another host may give", id)
                .isInstanceOf(HomeException.class)
                .hasMessage("worker a can't join the home " + home.path()
                        + ": expected an id from 512-514, the range of its host h1, found " + id
                        + "; choose another id, or let the home choose");
        assertThat(home.idOf("a")).isEmpty();
        assertThat(join(home, "a")).isEqualTo(512);
    }

    /** A home that was used before ranges came may have given more ids. */
    @Test
    void letsALocalHomeContinueBehindItsRange() throws IOException {
        Home home = home(HomeIdentity.LOCAL);
        for (int id = 0; id < 512; id++) {
            Files.createSymbolicLink(home.claimsPath().resolve("id-" + id), Path.of("w" + id));
        }

        assertThat(join(home, "next")).isEqualTo(512);
        assertThat(join(home, "chosen", JoinOptions.defaults().withId(32767))).isEqualTo(32767);
    }

    @Test
    void staysWithAHomeThatMoves() throws IOException {
        Path moved = Files.move(home(H1).path(), directory.resolve("moved"));
        Path copy = HOST.files().createPrivateDirectory(directory.resolve("copy"));
        String text = Files.readString(moved.resolve("home.properties")) + "later=kept\n";
        HOST.files().createAtomically(copy.resolve("home.properties"), text.getBytes(StandardCharsets.ISO_8859_1));

        assertThat(join(Home.open(copy, HOST), "a")).isEqualTo(512);

        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(copy.resolve("home.properties")));
        assertThat(properties)
                .containsEntry("host", "h1")
                .containsEntry("ids", "512-514")
                .containsEntry("format", "2")
                .containsEntry("later", "kept")
                .containsEntry("directory", String.valueOf(HOST.files().inode(copy)));
    }

    @Test
    void goesWithARemovedWorkerIntoItsArchive() throws IOException {
        Home home = home(H1);
        join(home, "a");
        Home local = Home.open(directory.resolve("local"), HOST);
        Home other =
                Home.open(directory.resolve("other"), HOST, Home.ROLL_CYCLE_DEFAULT, new HomeIdentity("h2", 0, 511));
        Removal removal = new Removal(home);
        Peer gone = new Membership(home).find("a").orElseThrow();

        assertThatThrownBy(() -> removal.remove(gone, Optional.of(other.path())))
                .as("a removal into an archive that can't have the id")
                .hasMessageContaining("is of host h2 with worker ids 0-511: expected one with the id 512 of worker a");
        assertThat(home.idOf("a")).contains(512);
        removal.remove(gone, Optional.of(directory.resolve("archive")));

        assertThat(Home.openExisting(directory.resolve("archive"), HOST).identity())
                .isEqualTo(H1);
        local.claim(new WorkerInfo(512, "a"));
        assertThat(local.idOf("a")).contains(512);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "host=h1",
                "ids=0-511",
                "host=\nids=0-511",
                "host=H1\nids=0-511",
                "host=../h\nids=0-511",
                "host=h1\nids=511",
                "host=h1\nids=511-0",
                "host=h1\nids=-1-5",
                "host=h1\nids=0-32768",
                "host=h1\nids=00-01",
                "host=h1\nids=0-999999999999"
            })
    void isRefusedWhenMalformed(String lines) throws IOException {
        home(H1);
        Files.writeString(file(), "format=2\nroll.cycle=MINUTELY\n" + lines + "\n");

        assertThatThrownBy(() -> home(H1))
                .isInstanceOf(MalformedHomeFileException.class)
                .hasMessageStartingWith(file() + ": expected ");
    }

    @Test
    void isNoMatterOfFormatOne() throws IOException {
        home(HomeIdentity.LOCAL);
        Files.writeString(file(), "format=1\nroll.cycle=MINUTELY\nhost=h1\nids=512-514\n");

        assertThat(home(H1).identity()).isEqualTo(HomeIdentity.LOCAL);
    }
}
