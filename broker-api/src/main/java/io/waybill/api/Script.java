package io.waybill.api;

import io.waybill.api.handler.MessageHandler;
import java.nio.file.Path;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A file of TorchScript that an operator deployed: a service that the node publishes for the bundle that runs scripts, as long as the
 * script is to be served.
 *
 * <p>The bundle that runs scripts looks at each one when its service appears, before the registration returns: makes its functions ready,
 * publishes a {@link MessageHandler} for them, and calls {@link #accepted}; or calls {@link #refused}. A new version is another service,
 * and the old one is withdrawn after the new one was accepted, never before.
 *
 * <p><b>Threads.</b> Any.
 */
@ProviderType
public interface Script {

    /** What a script is. */
    enum Form {
        /** Text with functions: {@code .py}. */
        SOURCE,
        /** A saved module with methods: {@code .pt}. */
        MODULE
    }

    /** The first part of its functions' names: {@code math} for {@code math.py}. */
    String module();

    Form form();

    /** Its content: a copy that only this process's user can change, and that stays as long as the service is there. */
    Path file();

    /** Where the operator put it, for texts. */
    String origin();

    /** The service ranking for its handlers: of two scripts with a function of one name the higher one's is called. */
    int ranking();

    /** Its functions are served. */
    void accepted(List<String> schemas);

    /** It can't be served, for this reason. */
    void refused(String problem);
}
