package io.waybill.cuda.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.cuda.CudaNatives;
import io.waybill.cuda.standin.StandIn;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** The driver that the tests tagged {@code gpu} run on: that of the machine on a machine with a GPU, else the driver of the tests. */
final class Driver {

    /** Set where the machine's own driver is meant. */
    static final String REAL_PROPERTY = "waybill.gpu.real";

    private static final int LATE_US = 300_000;
    private static final int MIXED_US = 20_000;

    private final Optional<StandIn> standIn;

    private Driver(Optional<StandIn> standIn) {
        this.standIn = standIn;
    }

    /** Prepares it, before the first call of CUDA. */
    static Driver use() throws IOException {
        if (Boolean.getBoolean(REAL_PROPERTY)) {
            return new Driver(Optional.empty());
        }
        StandIn driver = StandIn.ofThisJvm();
        driver.reset();
        driver.set("devices", 2);
        driver.set("hold", 1); // work runs only when something waits for it
        CudaNatives.configure(
                System.getProperty(CudaNatives.DIRECTORY_PROPERTY),
                driver.library().toString());
        return new Driver(Optional.of(driver));
    }

    /** Returns the driver for another process of this test, which is started in a directory of its own. */
    Driver ofAnotherProcess(Path directory) throws IOException {
        if (standIn.isEmpty()) {
            return this;
        }
        StandIn driver = StandIn.in(directory);
        driver.set("devices", 2);
        return new Driver(Optional.of(driver));
    }

    /** Whether there is a second device, which real machines need not have. */
    boolean hasTwoDevices() {
        return standIn.isPresent();
    }

    /** Returns the file of the library; empty where the loader finds it. */
    String library() {
        return standIn.map(driver -> driver.library().toString())
                .orElse(System.getProperty(CudaNatives.DRIVER_PROPERTY, ""));
    }

    /** Lets work run long after it was put on its stream. */
    void delayWork() {
        standIn.ifPresent(driver -> {
            driver.set("hold", 0);
            driver.set("delay_max_us", LATE_US);
            driver.set("delay_min_us", LATE_US);
        });
    }

    /** Lets work run by itself, after times that differ much. */
    void mixStreams() {
        standIn.ifPresent(driver -> {
            driver.set("hold", 0);
            driver.set("delay_max_us", MIXED_US);
        });
    }

    /** Checks that nothing was left, and nothing done that no program may do, where the driver says so. */
    void requireNothingLeft() {
        standIn.ifPresent(driver -> {
            Waits.until(
                    () -> "nothing left: " + driver.nonZero("live_"),
                    () -> driver.nonZero("live_").isEmpty());
            assertThat(driver.get("violations")).isZero();
        });
    }
}
