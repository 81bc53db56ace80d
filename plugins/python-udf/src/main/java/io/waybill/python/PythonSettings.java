package io.waybill.python;

import io.waybill.python.pool.PoolSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.BundleContext;

/** Validated settings of {@code conf/io.waybill.python.cfg}. Immutable. */
final class PythonSettings {

    private static final int MAX_POOL = 256;

    /** Python code that runs a module like -m, but without the node's current directory in the import path. */
    private static final String RUN = "import runpy, sys; sys.path[:1] = [each for each in sys.path[:1] if each]; "
            + "runpy.run_module(sys.argv[1], run_name='__main__', alter_sys=True)";

    private static final String SHARE = "waybill.share";

    private final Config config;
    private final Path socket; // null for the default

    /** Keys of the settings; in the file they have dots instead of underscores. */
    @interface Config {

        /** Returns the path of the socket; empty for python.sock in the node's directory. */
        String socket() default "";

        /** Returns the interpreter of the pool, such as that of a virtual environment. */
        String interpreter() default "python3";

        /** Returns the directories from which the pool's processes import first, separated by colons. */
        String path() default "";

        /** Returns the module that a pool process runs. */
        String pool_module() default "waybill.pool";

        /** Returns the max number of pool processes; 0 for no pool. */
        int pool_size() default 2;

        /** Returns the max start time of a pool process, in milliseconds. */
        int pool_start_ms() default 60_000;

        /** Returns the max time of a call after its deadline before its process is killed, in milliseconds. */
        int kill_after_ms() default 1_000;

        /** Returns whether calls to the pool may contain code. */
        boolean by_value() default false;

        /** Returns whether changed modules below the path take effect. */
        boolean reload() default true;
    }

    /** @throws IllegalArgumentException if a value is invalid; the message names the key */
    PythonSettings(Config config) {
        this.config = config;
        this.socket = config.socket().isBlank() ? null : Path.of(config.socket().strip());
        if (socket != null && !socket.isAbsolute()) {
            throw new IllegalArgumentException("socket is an absolute path, or empty: " + config.socket());
        }
        if (config.pool_size() < 0 || config.pool_size() > MAX_POOL) {
            throw new IllegalArgumentException("pool.size is from 0 to " + MAX_POOL + ": " + config.pool_size());
        }
        if (config.pool_start_ms() < 1 || config.kill_after_ms() < 0) {
            throw new IllegalArgumentException("pool.start.ms is 1 or more, and kill.after.ms 0 or more: "
                    + config.pool_start_ms() + ", " + config.kill_after_ms());
        }
    }

    /** Returns the path of the Python package in the distribution; empty without a distribution. */
    static Optional<String> client(BundleContext context) {
        String share = context.getProperty(SHARE);
        return share == null || share.isEmpty()
                ? Optional.empty()
                : Optional.of(Path.of(share, "python").toString());
    }

    Optional<Path> socket() {
        return Optional.ofNullable(socket);
    }

    /**
     * Returns the settings of the pool.
     *
     * @param client path of the Python package, if it is known
     * @param script program whose functions and operations are served, too; empty for none
     */
    PoolSettings pool(Optional<String> client, String script) {
        List<String> command = List.of(
                config.interpreter().strip(), "-c", RUN, config.pool_module().strip());
        List<String> path = new ArrayList<>();
        if (!config.path().isBlank()) {
            for (String each : config.path().split(":")) {
                path.add(each.strip());
            }
        }
        client.ifPresent(path::add);
        return new PoolSettings(
                command,
                path,
                config.pool_size(),
                Duration.ofMillis(config.pool_start_ms()),
                Duration.ofMillis(config.kill_after_ms()),
                config.by_value(),
                script,
                config.reload());
    }
}
