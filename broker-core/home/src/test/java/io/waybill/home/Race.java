package io.waybill.home;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Lets several threads do something at the same time. */
public final class Race {
    private Race() {}

    /** What each did, by its number. */
    public interface Runner<T> {
        T run(int number) throws Exception;
    }

    public record Result<T>(List<T> values, List<Throwable> failures) {}

    public static <T> Result<T> run(int threads, Runner<T> runner) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch start = new CountDownLatch(1);
        List<Future<T>> futures = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int number = i;
            Callable<T> task = () -> {
                start.await();
                return runner.run(number);
            };
            futures.add(pool.submit(task));
        }
        start.countDown();
        List<T> values = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (Future<T> future : futures) {
            try {
                values.add(future.get());
            } catch (ExecutionException e) {
                failures.add(e.getCause());
            }
        }
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS);
        return new Result<>(values, failures);
    }
}
