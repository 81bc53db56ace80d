package io.waybill.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.Home;
import io.waybill.home.error.HomeException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Timeout(60)
class NewHomeOptionTest {

    private static final HomeIdentity H1 = new HomeIdentity("h1", 512, 1023);

    @TempDir
    private Path directory;

    @Command
    private static final class Given {
        @Mixin
        private NewHomeOption home;
    }

    private Home open(String... options) throws Exception {
        Given given = new Given();
        CommandLine line = new CommandLine(given);
        String[] all = new String[options.length + 2];
        all[0] = "--home";
        all[1] = directory.resolve("home").toString();
        System.arraycopy(options, 0, all, 2, options.length);
        line.parseArgs(all);
        return given.home.open(null, Host.real());
    }

    @Test
    void makesALocalHomeWithoutOptions() throws Exception {
        assertThat(open().identity()).isEqualTo(HomeIdentity.LOCAL);
        assertThat(open("--host-name", "local", "--worker-ids", "0-511").identity())
                .isEqualTo(HomeIdentity.LOCAL);
    }

    @Test
    void givesANewHomeItsIdentity() throws Exception {
        assertThat(open("--host-name", "h1", "--worker-ids", "512-1023").identity())
                .isEqualTo(H1);
        assertThat(open("--host-name", "h1", "--worker-ids", "512-1023").identity())
                .isEqualTo(H1);
        assertThat(open("--host-name", "h1").identity()).isEqualTo(H1);
        assertThat(open().identity()).isEqualTo(H1);
    }

    @Test
    void refusesAHomeOfAnotherIdentity() throws Exception {
        Path path = open().path();

        assertThatThrownBy(() -> open("--worker-ids", "512-1023"))
                .isInstanceOf(HomeException.class)
                .hasMessage("home " + path
                        + " can't be used: expected host local with worker ids 512-1023, found host local"
                        + " with worker ids 0-511 in its home.properties; leave out --host-name and --worker-ids, or name"
                        + " another home with --home");
        assertThatThrownBy(() -> open("--host-name", "h2")).hasMessageContaining("expected host h2");
    }

    @Test
    void refusesMalformedOptions() {
        assertThatThrownBy(() -> open("--host-name", "H 1")).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> open("--worker-ids", "7")).isInstanceOf(UsageException.class);
        assertThat(directory.resolve("home")).doesNotExist();
    }
}
