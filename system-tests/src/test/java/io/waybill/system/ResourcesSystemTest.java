package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is left of workers when they are closed: nothing but their directories. */
@Timeout(600)
class ResourcesSystemTest {

    private static final int CYCLES = 50;
    /** A worker with fewer records opens no index. */
    private static final int CALLS_FOR_AN_INDEX = 20_000;

    /** What the worker that stays opens seconds after it joined, its index above all: far less than one descriptor per cycle. */
    private static final int OPENED_LATE = 20;

    @TempDir
    private Path directory;

    /** The names of all threads. A poller that was kept from its processor gets a companion, which stays: they count as one. */
    private static Set<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(Thread::isAlive)
                .map(thread -> thread.getName().replaceFirst("-poller-2$", "-poller-1"))
                .collect(Collectors.toSet());
    }

    private static Request request(String to, Tensor... tensors) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(100), List.of(tensors))
                .timeout(Duration.ofSeconds(20));
    }

    private static void callWithTensor(Worker worker, String to) {
        Storage storage = worker.buffers().allocate(1 << 20);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {1 << 20}, storage);
        try {
            worker.call(request(to, tensor)).close();
        } finally {
            storage.release();
        }
    }

    @Test
    void leavesNoThreadNoFileAndNoTemporaryFileBehind() throws Exception {
        try (Swarm swarm = new Swarm(directory.resolve("home"), directory.resolve("calls"))) {
            Worker stays = swarm.join("stays");
            cycle(swarm, stays); // what is loaded and opened once for the process
            Waits.until("links of those that left are closed", () -> linksOf(stays) == 0);
            for (int i = 0; i < CALLS_FOR_AN_INDEX; i++) {
                stays.call(request("stays")).close();
            }
            Waits.until(
                    "the index is open, which its thread does in its own time",
                    () -> descriptorList().stream()
                                    .filter(file -> file.endsWith("stays/index"))
                                    .count()
                            >= 2);
            List<String> filesBefore = descriptorList();
            Set<String> threadsBefore = threads();
            for (int i = 0; i < CYCLES; i++) {
                cycle(swarm, stays);
            }
            Waits.until(
                    () -> "no descriptor that a cycle left: " + more(filesBefore),
                    () -> descriptorList().size() <= filesBefore.size() + OPENED_LATE);
            Waits.until(
                    () -> "no thread more than " + threadsBefore + ": " + threads(),
                    () -> threadsBefore.containsAll(threads()));
        }
        Waits.until(
                () -> "no thread of a worker that left: " + threads(),
                () -> threads().stream().noneMatch(name -> name.matches("(stays|comes).*")));
        assertThat(temporaryFiles()).isEmpty();
    }

    private static void cycle(Swarm swarm, Worker stays) throws IOException {
        Worker comes = swarm.join("comes");
        comes.call(request("stays")).close();
        callWithTensor(comes, "stays");
        stays.call(request("comes")).close();
        callWithTensor(stays, "comes");
        swarm.leave(comes);
    }

    private static long linksOf(Worker worker) throws IOException {
        return descriptorsMatching("/[0-9]+-comes/");
    }

    private static long descriptorsMatching(String pattern) throws IOException {
        return descriptorList().stream()
                .filter(target -> target.matches(".*" + pattern + ".*"))
                .count();
    }

    private static List<String> descriptorList() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.map(ResourcesSystemTest::target).sorted().toList();
        }
    }

    private static String more(List<String> before) {
        try {
            List<String> more = new ArrayList<>(descriptorList());
            before.forEach(more::remove);
            return String.join("\n", more);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return "closed meanwhile";
        }
    }

    private List<Path> temporaryFiles() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(path -> path.getFileName().toString().startsWith(".")
                            || path.toString().endsWith(".tmp")
                            || path.toString().endsWith(".seg"))
                    .toList();
        }
    }

    @Test
    void runsNoRequestTwiceWhenItsCallerLeavesAndReturnsAtOnce() throws Exception {
        Path log = directory.resolve("calls");
        AtomicInteger outcomes = new AtomicInteger();
        AtomicInteger sent = new AtomicInteger();
        try (Swarm swarm = new Swarm(directory.resolve("home"), log)) {
            swarm.join("stays");
            for (int i = 0; i < 30; i++) {
                Worker comes = swarm.join("comes");
                for (int k = 0; k < 300; k++) {
                    comes.call(request("stays"), new Counting(outcomes));
                    sent.incrementAndGet();
                }
                swarm.leave(comes); // with calls on their way
            }
            Worker last = swarm.join("comes");
            last.call(request("stays")).close();
        }
        assertThat(outcomes).hasValue(sent.get());
        Outcomes.read(log).hasNothingTwice();
    }

    private record Counting(AtomicInteger outcomes) implements ResponseListener {
        @Override
        public void onResponse(Response response) {
            outcomes.incrementAndGet();
        }

        @Override
        public void onFailure(CallException failure) {
            outcomes.incrementAndGet();
        }
    }
}
