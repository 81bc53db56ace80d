package io.waybill.osgi.whiteboard;

import io.waybill.api.tool.ToolCommand;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tool.ToolCommands;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the {@link ToolCommand} services of bundles with the worker. An unusable one is a problem of its bundle.
 * When one is unregistered, its runs are cancelled.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
final class ToolWhiteboard extends ServiceWhiteboard<ToolCommand, ToolCommands.Registration> {

    private static final Logger LOG = LoggerFactory.getLogger(ToolWhiteboard.class);

    private final ToolCommands commands;
    private final ServiceProblems problems;

    ToolWhiteboard(BundleContext context, ToolCommands commands, ServiceProblems problems) {
        super(context, ToolCommand.class, "a command", problems);
        this.commands = commands;
        this.problems = problems;
    }

    @Override
    ToolCommands.Registration add(
            Provider provider, ToolCommand command, ServiceReference<ToolCommand> reference, long mark) {
        try {
            ToolCommands.Registration registration = commands.add(provider, command);
            LOG.info("{} offers a command", provider);
            return registration;
        } catch (Throwable e) { // includes exceptions of the command's description
            problems.report(
                    reference,
                    e instanceof IllegalArgumentException
                            ? ForeignErrors.message(e)
                            : "a command can't be described: " + ForeignErrors.describe(e));
            return null;
        }
    }

    @Override
    void remove(ToolCommands.Registration command) {
        command.remove();
    }
}
