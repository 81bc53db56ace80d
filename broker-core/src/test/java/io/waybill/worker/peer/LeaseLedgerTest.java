package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a lease whose end can't be told to who leased it. */
@Timeout(60)
class LeaseLedgerTest {

    @TempDir
    private Path directory;

    @Test
    void doesNotThrowIntoWhateverReleases() throws IOException {
        Home home = Home.open(directory.resolve("home"), Host.real());
        try (WorkerDirectory worker = home.join("a", JoinOptions.defaults())) {
            Cursors cursors = worker.cursors();
            int stranger = 1000;
            fill(cursors, stranger);
            assertThatThrownBy(() -> cursors.slot(stranger)).isInstanceOf(HomeException.class);

            assertThatCode(() -> new LeaseLedger(cursors).released(stranger, 1)).doesNotThrowAnyException();
        }
    }

    private static void fill(Cursors cursors, int beside) {
        try {
            for (int id = 1; id < beside; id++) {
                cursors.slot(id);
            }
        } catch (HomeException e) {
            return; // all are taken
        }
        throw new AssertionError("cursors with room for " + beside + " peers");
    }
}
