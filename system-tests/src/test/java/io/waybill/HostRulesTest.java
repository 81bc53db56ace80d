package io.waybill;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.Year;
import java.util.Calendar;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The core takes time, chance, threads, processes, files and settings from its host, and it shows when it does not. */
@Timeout(120)
class HostRulesTest {

    private static final JavaClasses AROUND = new ClassFileImporter().importClasses(Around.class);

    @Test
    void theCoreTakesFromItsHostWhatIsTheHosts() {
        JavaClasses core = new ClassFileImporter()
                .withImportOption(Repository.MAIN_CLASSES)
                .importPackages("io.waybill")
                .that(resideOutsideOfPackage("io.waybill.testing..")); // it serves tests, which choose seeds
        assertThat(core.size()).isGreaterThan(400);
        assertThat(HostRules.violations(core))
                .as("what the core uses, and must be given (invariant 10)")
                .isEmpty();
    }

    /** Each does one thing that the core must not do. */
    @SuppressWarnings({"unused", "deprecation"})
    private static final class Around {

        static LongSupplier nanoTimeByReference() {
            return System::nanoTime;
        }

        static long currentTime() {
            return System.currentTimeMillis();
        }

        static Supplier<Long> nanoTimeInALambda() {
            return () -> System.nanoTime();
        }

        static Object newDate() {
            return new Date();
        }

        static Supplier<Date> newDateByReference() {
            return Date::new;
        }

        static Object now() {
            return OffsetDateTime.now();
        }

        static Supplier<Year> nowByReference() {
            return Year::now;
        }

        static Object calendar() {
            return Calendar.getInstance();
        }

        static double random() {
            return Math.random();
        }

        static int threadLocalRandom() {
            return ThreadLocalRandom.current().nextInt();
        }

        static int newRandom() {
            return new Random().nextInt();
        }

        static Supplier<SplittableRandom> newRandomByReference() {
            return SplittableRandom::new;
        }

        static Object uuid() {
            return UUID.randomUUID();
        }

        static void shuffle(List<String> list) {
            Collections.shuffle(list);
        }

        static Object runAsync(Runnable task) {
            return CompletableFuture.runAsync(task);
        }

        static Object supplyAsync(Supplier<String> task) {
            return CompletableFuture.supplyAsync(task);
        }

        static Function<Supplier<String>, CompletableFuture<String>> supplyAsyncByReference() {
            return CompletableFuture::supplyAsync;
        }

        static Object thenAsync(CompletionStage<String> stage) {
            return stage.thenApplyAsync(text -> text);
        }

        static Object timedFuture(CompletableFuture<String> future) {
            return future.orTimeout(1, TimeUnit.SECONDS);
        }

        static Object parallel(List<String> list) {
            return list.parallelStream().count();
        }

        static Object newThread(Runnable body) {
            return new Thread(body);
        }

        static ThreadFactory newThreadByReference() {
            return Thread::new;
        }

        static Object executor() {
            return Executors.newCachedThreadPool();
        }

        static void sleep() throws InterruptedException {
            TimeUnit.SECONDS.sleep(1);
        }

        static void park() {
            LockSupport.parkNanos(1);
        }

        static Consumer<Thread> unparkByReference() {
            return LockSupport::unpark;
        }

        static void spin() {
            Thread.onSpinWait();
        }

        static Runnable yieldByReference() {
            return Thread::yield;
        }

        static void join(Thread thread) throws InterruptedException {
            thread.join();
        }

        static void waitForAny(Object monitor) throws InterruptedException {
            monitor.wait();
        }

        void waitForThis() throws InterruptedException {
            wait(1);
        }

        static void condition(Condition condition) {
            condition.awaitUninterruptibly();
        }

        static void latch(CountDownLatch latch) throws InterruptedException {
            latch.await();
        }

        static boolean permit(Semaphore semaphore) throws InterruptedException {
            return semaphore.tryAcquire(1, TimeUnit.SECONDS);
        }

        static Object take(LinkedBlockingQueue<String> queue) throws InterruptedException {
            return queue.take();
        }

        static Object timedGet(Future<String> future) throws Exception {
            return future.get(1, TimeUnit.SECONDS);
        }

        static Object joined(CompletableFuture<String> future) {
            return future.join();
        }

        static Object threadLocal() {
            return new ThreadLocal<String>();
        }

        static Supplier<ThreadLocal<String>> threadLocalByReference() {
            return ThreadLocal::new;
        }

        static Object process() throws IOException {
            return new ProcessBuilder("true").start();
        }

        static Object exec() throws IOException {
            return Runtime.getRuntime().exec("true");
        }

        static long pid() {
            return ProcessHandle.current().pid();
        }

        static void delete(Path path) throws IOException {
            Files.delete(path);
        }

        static Consumer<Path> deleteInALambda() {
            return path -> {
                try {
                    Files.deleteIfExists(path);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            };
        }

        static Function<Path, Boolean> existsByReference() {
            return Files::exists;
        }

        static byte[] readAll(Path path) throws IOException {
            return Files.readAllBytes(path);
        }

        static Object randomAccess(File file) throws IOException {
            return new RandomAccessFile(file, "r");
        }

        static InputStream input(File file) throws IOException {
            return new FileInputStream(file);
        }

        static OutputStream output(File file) throws IOException {
            return new FileOutputStream(file);
        }

        static Object writer(String file) throws IOException {
            return new PrintWriter(file, "UTF-8");
        }

        static Object channel(Path path) throws IOException {
            return FileChannel.open(path);
        }

        static boolean deleteByFile(File file) {
            return file.delete();
        }

        static String property() {
            return System.getProperty("user.home");
        }

        static Function<String, String> environmentByReference() {
            return System::getenv;
        }
    }

    @ParameterizedTest
    @CsvSource({
        "nanoTimeByReference, java.lang.System.nanoTime",
        "currentTime, java.lang.System.currentTimeMillis",
        "nanoTimeInALambda, java.lang.System.nanoTime",
        "newDate, java.util.Date.<init>",
        "newDateByReference, java.util.Date.<init>",
        "now, java.time.OffsetDateTime.now",
        "nowByReference, java.time.Year.now",
        "calendar, java.util.Calendar.getInstance",
        "random, java.lang.Math.random",
        "threadLocalRandom, java.util.concurrent.ThreadLocalRandom.current",
        "newRandom, java.util.Random.<init>",
        "newRandomByReference, java.util.SplittableRandom.<init>",
        "uuid, java.util.UUID.randomUUID",
        "shuffle, java.util.Collections.shuffle",
        "runAsync, java.util.concurrent.CompletableFuture.runAsync",
        "supplyAsync, java.util.concurrent.CompletableFuture.supplyAsync",
        "supplyAsyncByReference, java.util.concurrent.CompletableFuture.supplyAsync",
        "thenAsync, java.util.concurrent.CompletionStage.thenApplyAsync",
        "timedFuture, java.util.concurrent.CompletableFuture.orTimeout",
        "parallel, java.util.List.parallelStream",
        "newThread, java.lang.Thread.<init>",
        "newThreadByReference, java.lang.Thread.<init>",
        "executor, java.util.concurrent.Executors.newCachedThreadPool",
        "sleep, java.util.concurrent.TimeUnit.sleep",
        "park, java.util.concurrent.locks.LockSupport.parkNanos",
        "unparkByReference, java.util.concurrent.locks.LockSupport.unpark",
        "spin, java.lang.Thread.onSpinWait",
        "yieldByReference, java.lang.Thread.yield",
        "join, java.lang.Thread.join",
        "waitForAny, java.lang.Object.wait",
        "waitForThis, java.lang.Object.wait",
        "condition, java.util.concurrent.locks.Condition.awaitUninterruptibly",
        "latch, java.util.concurrent.CountDownLatch.await",
        "permit, java.util.concurrent.Semaphore.tryAcquire",
        "take, java.util.concurrent.LinkedBlockingQueue.take",
        "timedGet, java.util.concurrent.Future.get",
        "joined, java.util.concurrent.CompletableFuture.join",
        "threadLocal, java.lang.ThreadLocal.<init>",
        "threadLocalByReference, java.lang.ThreadLocal.<init>",
        "process, java.lang.ProcessBuilder.<init>",
        "exec, java.lang.Runtime.exec",
        "pid, java.lang.ProcessHandle.current",
        "delete, java.nio.file.Files.delete",
        "deleteInALambda, java.nio.file.Files.deleteIfExists",
        "existsByReference, java.nio.file.Files.exists",
        "readAll, java.nio.file.Files.readAllBytes",
        "randomAccess, java.io.RandomAccessFile.<init>",
        "input, java.io.FileInputStream.<init>",
        "output, java.io.FileOutputStream.<init>",
        "writer, java.io.PrintWriter.<init>",
        "channel, java.nio.channels.FileChannel.open",
        "deleteByFile, java.io.File.delete",
        "property, java.lang.System.getProperty",
        "environmentByReference, java.lang.System.getenv"
    })
    void seesWhoGoesAroundTheHost(String method, String target) {
        assertThat(HostRules.violations(AROUND))
                .as("what is said of %s", method)
                .anyMatch(line -> line.startsWith(Around.class.getName() + "." + method + "(")
                        && line.contains(" uses " + target + "("));
    }

    /** With a seed, a time, an executor of its own: none of this is the host's. */
    @SuppressWarnings("unused")
    private static final class Within {

        static int seeded() {
            return new Random(7).nextInt();
        }

        static Object at() {
            return new Date(7);
        }

        static Object on(Executor executor, Runnable task) {
            return CompletableFuture.runAsync(task, executor);
        }

        static Object ready(CompletableFuture<String> future, LinkedBlockingQueue<String> queue, Semaphore semaphore)
                throws Exception {
            return semaphore.tryAcquire() && future.isDone() ? future.get() : queue.poll();
        }

        static Object then(CompletableFuture<String> future) {
            return future.thenApply(text -> text + Path.of(text).getFileName());
        }

        static Object written(OutputStream to) {
            return new PrintWriter(to);
        }
    }

    @Test
    void leavesAloneWhoGoesByWhatIsGiven() {
        assertThat(HostRules.violations(new ClassFileImporter().importClasses(Within.class)))
                .isEmpty();
    }
}
