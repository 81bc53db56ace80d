package io.waybill.osgi.whiteboard;

import io.waybill.api.tool.ToolCommand;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tool.ToolCommands;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes the {@link ToolCommand} services of bundles on. One that can't be used is a problem of its bundle. When one goes, its runs end.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
final class ToolWhiteboard implements ServiceTrackerCustomizer<ToolCommand, ToolCommands.Registration>, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ToolWhiteboard.class);

    private final BundleContext context;
    private final ToolCommands commands;
    private final ServiceProblems problems;
    private final ServiceTracker<ToolCommand, ToolCommands.Registration> tracker;

    ToolWhiteboard(BundleContext context, ToolCommands commands, ServiceProblems problems) {
        this.context = context;
        this.commands = commands;
        this.problems = problems;
        this.tracker = new ServiceTracker<>(context, ToolCommand.class, this);
    }

    void open() {
        tracker.open();
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public ToolCommands.Registration addingService(ServiceReference<ToolCommand> reference) {
        Bundle bundle = reference.getBundle();
        ToolCommand command = context.getService(reference);
        if (command == null) {
            problems.report(reference, "a command could not be made");
            return null;
        }
        try {
            ToolCommands.Registration registration = commands.add(
                    new Provider(bundle.getSymbolicName(), bundle.getVersion().toString()), command);
            LOG.info("{} {} offers a command", bundle.getSymbolicName(), bundle.getVersion());
            return registration;
        } catch (Throwable e) { // of the command's description, too
            context.ungetService(reference);
            problems.report(
                    reference,
                    e instanceof IllegalArgumentException
                            ? ForeignErrors.message(e)
                            : "a command can't be described: " + ForeignErrors.describe(e));
            return null;
        }
    }

    @Override
    public void modifiedService(ServiceReference<ToolCommand> reference, ToolCommands.Registration command) {
        // A command has no properties that count.
    }

    @Override
    public void removedService(ServiceReference<ToolCommand> reference, ToolCommands.Registration command) {
        command.remove();
        context.ungetService(reference);
    }
}
