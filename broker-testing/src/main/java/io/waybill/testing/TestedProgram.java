package io.waybill.testing;

import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * The program of a {@link TestedProcess}. Takes the broker's directory, the worker's name and its setup; writes a line
 * when it is ready; ends in order after a byte of its standard input, and at once when this ends, such as with the JVM
 * of the test. Stateless.
 */
final class TestedProgram {

    /** Line of its output. */
    static final String READY = "@ready";

    /** Byte of its input. */
    static final int STOP = 's';

    private TestedProgram() {}

    public static void main(String[] arguments) {
        CountDownLatch stopped = new CountDownLatch(1);
        Host host = Host.real();
        host.threads().start("input", () -> awaitStop(stopped));
        int exitCode = 0;
        try {
            List<String> words = List.of(arguments);
            WorkerSetup setup = WorkerSetup.ofArguments(words.subList(2, words.size()));
            try (TestedMember worker = TestedMember.start(Path.of(words.get(0)), words.get(1), host, setup)) {
                worker.here().ready();
                System.out.println(READY);
                stopped.await();
            }
        } catch (Throwable e) { // shown to the test; also an AssertionError, of a bundle
            e.printStackTrace(System.out);
            exitCode = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(exitCode); // threads that a bundle left must not keep the process
    }

    private static void awaitStop(CountDownLatch stopped) {
        try {
            while (System.in.read() == STOP) {
                stopped.countDown();
            }
        } catch (IOException e) { // as at its end
            e.printStackTrace(System.out);
        }
        Runtime.getRuntime().halt(1);
    }
}
