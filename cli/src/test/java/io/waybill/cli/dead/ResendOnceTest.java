package io.waybill.cli.dead;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cli.dead.FailingHome.Ran;
import io.waybill.query.DepartedWorkers;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A failed call is sent again once: by one command after another, by several at once, and when one is killed. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class ResendOnceTest {

    private static final int COMMANDS = 4;

    @TempDir
    Path temporary;

    private FailingHome home;

    @BeforeEach
    void join() throws IOException {
        home = new FailingHome(temporary);
    }

    @AfterEach
    void leave() throws IOException {
        home.close();
    }

    @Test
    void refusesASecondTimeWithoutAgain() throws IOException {
        String id = home.failed(FailingHome.pay(5));
        home.isBroken = false;
        Ran first = home.ended(1, "dead", "resend", id, id);
        String repeat = first.out().replaceAll("(?s).* as ([0-9.]+):.*", "$1");
        assertThat(first.err()).as("the same id twice").contains("found " + repeat + " ok, which repeats it");
        assertThat(home.ended(1, "dead", "resend", id).err())
                .contains(id + " is not sent again: ", "found " + repeat + " ok, which repeats it", "--again");
        assertThat(home.requests("orders.pay")).isEqualTo(2);
        home.ended(0, "dead", "resend", id, "--again");
        assertThat(home.requests("orders.pay")).isEqualTo(3);
    }

    @Test
    void namesTheRepeatThatFailed() throws IOException {
        String id = home.failed(FailingHome.pay(5));
        home.ended(1, "dead", "resend", id);
        List<String> waiting = home.ended(0, "dead", "list", "--json").ids();
        assertThat(waiting).as("the repeat in place of the call").hasSize(1).doesNotContain(id);
        assertThat(home.ended(1, "dead", "resend", id).err())
                .contains(waiting.get(0) + " error HANDLER_FAILED", "waybill dead resend " + waiting.get(0));
        home.isBroken = false;
        home.ended(0, "dead", "resend", waiting.get(0));
        assertThat(home.ended(0, "dead", "list", "--json").ids()).isEmpty();
        assertThat(home.requests("orders.pay")).isEqualTo(3);
    }

    /** The first command waits for its handler, while the others try. */
    @Test
    void sendsOnceWhenCommandsOverlap() throws Exception {
        String id = home.failed(FailingHome.pay(5));
        home.isBroken = false;
        home.isHeld = true;
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            Future<Ran> first = threads.submit(() -> home.run("dead", "resend", id));
            Waits.until("the first command has sent it", () -> home.runs.size() == 2);
            assertThat(home.ended(1, "dead", "resend", id).err())
                    .contains("nothing is sent: one command at a time", DepartedWorkers.RESENDING_WORKER);
            home.isHeld = false;
            assertThat(first.get().code()).as(first.get().err()).isZero();
        } finally {
            home.isHeld = false;
            threads.shutdown();
        }
        assertThat(home.requests("orders.pay"))
                .as("requests, the failed one included")
                .isEqualTo(2);
    }

    @Test
    void sendsOnceWhenCommandsBeginTogether() throws Exception {
        String id = home.failed(FailingHome.pay(5));
        home.isBroken = false;
        ExecutorService threads = Executors.newFixedThreadPool(COMMANDS);
        CyclicBarrier together = new CyclicBarrier(COMMANDS);
        Callable<Ran> command = () -> {
            together.await();
            return home.run("dead", "resend", id);
        };
        try {
            List<Integer> codes = new ArrayList<>();
            for (Future<Ran> each : threads.invokeAll(java.util.Collections.nCopies(COMMANDS, command))) {
                codes.add(each.get().code());
            }
            assertThat(codes).as("exit codes").containsExactlyInAnyOrder(0, 1, 1, 1);
        } finally {
            threads.shutdown();
        }
        assertThat(home.requests("orders.pay"))
                .as("requests, the failed one included")
                .isEqualTo(2);
    }

    @Test
    void sendsOnceWhenACommandIsKilledBeforeTheOutcome() throws Exception {
        String id = home.failed(FailingHome.pay(5));
        home.isBroken = false;
        home.isHeld = true;
        Process killed = new ProcessBuilder(home.process("dead", "resend", id))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            Waits.until("the command has sent it", () -> home.runs.size() == 2);
        } finally {
            killed.destroyForcibly().waitFor();
        }
        assertThat(home.ended(1, "dead", "resend", id).err())
                .as("the request of the killed command")
                .contains(" none, which repeats it: waybill journal show ");
        assertThat(home.ended(0, "dead", "list", "--json").ids())
                .as("waits as long as the outcome of its repeat is not known")
                .containsExactly(id);
        home.isHeld = false;
        Waits.until(
                "the handler has responded",
                () -> home.run("dead", "list", "--all").out().contains(" ok"));
        assertThat(home.ended(1, "dead", "resend", id).err()).contains(" ok, which repeats it");
        assertThat(home.requests("orders.pay"))
                .as("requests, the failed one included")
                .isEqualTo(2);
    }

    /** The journal of the worker that sends again is the record: removals of departed workers keep it. */
    @Test
    void keepsTheRecordOfWhatWasSentAgain() throws IOException {
        String id = home.failed(FailingHome.pay(5));
        home.isBroken = false;
        home.ended(0, "dead", "resend", id);
        assertThat(home.ended(0, "workers", "remove", "--all-departed", "--yes").out())
                .contains(DepartedWorkers.RESENDING_WORKER, "is kept: the record of what commands did");
        home.ended(1, "dead", "resend", id);
        assertThat(home.requests("orders.pay")).isEqualTo(2);
        assertThat(home.ended(0, "workers", "--all", "--json").json().get(0).findValuesAsText("durability"))
                .as("of app, ps0 and the worker whose requests must outlive a power cut")
                .containsExactly("process", "process", "each");
    }
}
