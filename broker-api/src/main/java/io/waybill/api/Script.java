package io.waybill.api;

import io.waybill.api.handler.MessageHandler;
import java.nio.file.Path;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A TorchScript file that an operator deployed. The node publishes it as a service for the bundle that runs scripts,
 * until the script is undeployed.
 *
 * <p>When the service appears, and before its registration returns, the bundle that runs scripts prepares the
 * functions, publishes a {@link MessageHandler} for them, and calls {@link #accepted}; or it calls {@link #refused}. A
 * new version is another service; the old one is withdrawn only after the new one was accepted.
 *
 * <p><b>Threads.</b> Any.
 */
@ProviderType
public interface Script {

    /** File format of a script. */
    enum Form {
        /** Source text with functions: {@code .py}. */
        SOURCE,
        /** A saved module with methods: {@code .pt}. */
        MODULE
    }

    /** Returns the first part of the functions' names: {@code math} for {@code math.py}. */
    String module();

    Form form();

    /**
     * Returns the file: a copy that only this process's user can change, and that exists as long as the service does.
     */
    Path file();

    /** Returns the path that the operator deployed, for error messages. */
    String origin();

    /**
     * Returns the service ranking of its handlers: of two scripts with a function of the same name, the higher-ranked
     * is called.
     */
    int ranking();

    /** Reports that the functions are available. */
    void accepted(List<String> schemas);

    /** Reports that the script can't be served, and why. */
    void refused(String problem);
}
