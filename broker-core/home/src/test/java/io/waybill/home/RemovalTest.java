package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.WorkerInfo;
import io.waybill.home.Removal.Step;
import io.waybill.home.error.HomeException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Workers that are gone are removed as a whole, also by a process that ends at any step. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class RemovalTest {

    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    private Home home;
    private int id;

    /** The end of a process. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    @BeforeEach
    void joinAndLeave() throws IOException {
        home = Home.open(dir.resolve("home"), HOST);
        home.join("first").leave();
        try (WorkerDirectory gone = home.join("gone")) {
            id = gone.id();
            gone.cursors().nextCounter(7);
            Files.writeString(gone.subdirectory("requests").resolve("something"), "of it");
        }
    }

    private Peer find(String name) throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            return membership.members().find(name).orElseThrow();
        }
    }

    private List<String> names() throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            return membership.members().all().stream().map(Peer::name).toList();
        }
    }

    private List<String> directories() throws IOException {
        try (var all = Files.list(home.workersPath())) {
            return all.map(each -> each.getFileName().toString()).sorted().toList();
        }
    }

    private void assertConsistent() throws IOException {
        List<String> problems = new ArrayList<>();
        home.claimed(problems::add);
        assertThat(problems).isEmpty();
        assertThat(directories()).noneMatch(name -> name.startsWith("removed-"));
    }

    @Test
    void leavesNothingAndTheNameJoinsAsANewWorker() throws IOException {
        home.forget(find("gone"));
        new Removal(home).remove(find("gone"), Optional.empty());

        assertThat(names()).containsExactly("first");
        assertThat(directories()).containsExactly("0-first");
        assertThat(home.idOf("gone")).isEmpty();
        assertConsistent();
        try (WorkerDirectory again = home.join("gone")) {
            assertThat(again.id()).isNotEqualTo(id);
            assertThat(again.epoch()).isEqualTo(1);
            assertThat(again.firstCounter()).isZero();
        }
    }

    @Test
    void refusesAWorkerThatIsThere() throws IOException {
        try (WorkerDirectory alive = home.join("gone")) {
            assertThatThrownBy(() -> new Removal(home).remove(find("gone"), Optional.empty()))
                    .isInstanceOf(HomeException.class)
                    .hasMessageContaining("only one that left or died");
            assertThat(alive.path().resolve("requests/something")).exists();
        }
    }

    @Test
    void refusesOneThatJoinedSinceItWasLookedAt() throws IOException {
        Peer before = find("gone");
        WorkerDirectory again = home.join("gone");
        assertThatThrownBy(() -> new Removal(home).remove(before, Optional.empty()))
                .hasMessageContaining("another process holds");
        again.leave();
        assertThatThrownBy(() -> new Removal(home).remove(before, Optional.empty()))
                .hasMessageContaining("has joined again meanwhile");
        assertThat(names()).contains("gone");
    }

    private void removeAndEndBefore(Step end, Optional<Path> archive) throws IOException {
        Peer peer = find("gone");
        Removal ending = new Removal(home, step -> {
            if (step == end) {
                throw new Killed();
            }
        });
        assertThatThrownBy(() -> ending.remove(peer, archive)).isInstanceOf(Killed.class);
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void isCompletedOrNothingHasHappenedWhenItsProcessEnds(Step end) throws IOException {
        removeAndEndBefore(end, Optional.empty());

        new Removal(home).complete();

        assertConsistent();
        if (end.compareTo(Step.FREE_ID) <= 0) {
            assertThat(names()).containsExactly("first", "gone");
            try (WorkerDirectory again = home.join("gone")) {
                assertThat(again.id()).isEqualTo(id);
                assertThat(again.epoch()).isEqualTo(2);
                assertThat(again.path().resolve("requests/something")).exists();
            }
        } else {
            assertThat(directories()).containsExactly("0-first");
            assertThat(home.idOf("gone")).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void letsTheNameJoinWhenItsProcessEndsAndLeavesThatOneAlone(Step end) throws IOException {
        removeAndEndBefore(end, Optional.empty());

        try (WorkerDirectory again = home.join("gone")) {
            boolean isNew = end.compareTo(Step.FREE_ID) > 0;
            assertThat(again.id() != id).isEqualTo(isNew);
            assertThat(again.epoch()).isEqualTo(isNew ? 1 : 2);
            new Removal(home).complete();
            assertThat(names()).containsExactly("first", "gone");
            assertThat(again.path().resolve("worker.json")).exists();
            assertConsistent();
        }
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void isArchivedAlsoWhenItsProcessEnds(Step end) throws IOException {
        Path archive = dir.resolve("archive");
        removeAndEndBefore(end, Optional.of(archive));
        new Removal(home).complete();
        if (end.compareTo(Step.FREE_ID) <= 0) {
            new Removal(home).remove(find("gone"), Optional.of(archive));
        }

        assertThat(directories()).containsExactly("0-first");
        assertThat(archive.resolve("workers/" + id + "-gone/requests/something"))
                .hasContent("of it");
        assertThat(Home.openExisting(archive, HOST).idOf("gone")).contains(id);
        assertThatThrownBy(() -> new Removal(home).remove(find("first"), Optional.of(home.path())))
                .hasMessageContaining("already");
    }

    @Test
    void givesAnIdAgainWhenAllWereGivenAndNoCursorsNameIt() throws IOException {
        Claims claims = new Claims(home.path().resolve("claims"), HOST.files(), new HomeIdentity("h1", 0, 3));
        claims.claim("second", Claims.ANY_ID);
        claims.claim("third", Claims.ANY_ID);
        assertThatThrownBy(() -> claims.claim("fourth", Claims.ANY_ID))
                .isInstanceOf(HomeException.class)
                .hasMessageContaining("all 4 ids")
                .hasMessageContaining("waybill workers remove --all-departed");
        try (WorkerDirectory first = home.join("first")) {
            first.cursors().slot(id);
            new Removal(home).remove(find("gone"), Optional.empty());
            assertThatThrownBy(() -> claims.claim("fourth", Claims.ANY_ID)).hasMessageContaining("all 4 ids");
            first.cursors().free(id);
        }

        assertThat(claims.claim("fourth", Claims.ANY_ID)).isEqualTo(id);

        assertThat(home.isFree(id)).isFalse();
        for (int epoch = 2; epoch <= 3; epoch++) {
            try (WorkerDirectory fourth = home.join("fourth")) {
                assertThat(fourth.info()).isEqualTo(new WorkerInfo(id, "fourth"));
                assertThat(fourth.epoch()).isEqualTo(epoch); // no incarnation twice
                assertThat(fourth.firstCounter()).isGreaterThan(7 + (1 << 24)); // no message id twice
            }
        }
        new Removal(home).complete();
        assertThat(names()).contains("fourth");
        assertConsistent();
    }

    @Test
    void isNotGivenAgainWhileIdsAreLeftThatWereNeverGiven() throws IOException {
        home.join("last").leave();
        int last = home.idOf("last").orElseThrow();
        new Removal(home).remove(find("gone"), Optional.empty());
        new Removal(home).remove(find("last"), Optional.empty());
        for (int i = 1; i <= 20; i++) {
            home.join("next-" + i).leave();
            assertThat(home.idOf("next-" + i)).as("the id of the next one").contains(last + i);
        }
        assertConsistent();
    }

    @Test
    void leavesNoMarkOfADeadWorkerThatWasRemovedNorWhatForgotIt() throws IOException {
        ProcessIdentity self = HOST.processes().self();
        Processes ended = new Processes() {
            @Override
            public ProcessIdentity self() {
                return new ProcessIdentity(
                        self.pid(), self.startTime() + 2, self.bootId(), self.pidNamespace(), self.uid());
            }

            @Override
            public Liveness liveness(ProcessIdentity other) {
                return HOST.processes().liveness(other);
            }
        };
        WorkerDirectory dead = Home.open(home.path(), HOST.withProcesses(ended)).join("gone");
        dead.abandon();
        assertThat(home.presentPath(dead.info())).exists();
        home.forget(find("gone"));
        new Removal(home).remove(find("gone"), Optional.empty());
        assertThat(home.presentPath(dead.info())).doesNotExist();
        try (var claims = Files.list(home.claimsPath())) {
            assertThat(claims.map(claim -> claim.getFileName().toString()))
                    .noneMatch(name -> name.startsWith("forgotten-"));
        }
    }

    @Test
    void makesAJoinThatFoundTheNameBeforeStartFromScratch() throws IOException {
        new Removal(home).remove(find("gone"), Optional.empty());

        assertThat(WorkerDirectory.join(home, new WorkerInfo(id, "gone"), JoinOptions.defaults()))
                .isEmpty();
        assertThat(directories()).containsExactly("0-first");
    }

    @Test
    void andJoinsOfTheSameNameDoNotDisturbEachOther() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Integer> removing = CompletableFuture.supplyAsync(() -> {
            int removed = 0;
            while (!done.get()) {
                try {
                    new Removal(home).remove(find("gone"), Optional.empty());
                    removed++;
                } catch (IOException | java.util.NoSuchElementException e) {
                    // it is there, or not there
                }
            }
            return removed;
        });
        for (int i = 0; i < 300; i++) {
            try (WorkerDirectory again = home.join("gone")) {
                assertThat(home.idOf("gone")).contains(again.id());
                assertThat(again.path().resolve("worker.json")).exists();
                assertThat(find("gone").state()).isEqualTo(PeerState.STARTING);
            }
        }
        done.set(true);
        assertThat(removing.get(60, TimeUnit.SECONDS)).isPositive();
        new Removal(home).complete();
        assertConsistent();
    }
}
